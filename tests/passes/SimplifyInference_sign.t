# What a constant is compared with does not scale with it: a negative factor stays behind.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%s: f32[3,4]) -> %y {
  %c: f32[3,4] = {1, -1, 2, -2, 1, -1, 2, -2, 1, -1, 2, -2}
  %k: f32[4]   = {-1, 2, -3, 1}
  %p = PRelu(%c, %s)  "p"
  %y = Mul(%p, %k)    "y"
}
-- out
graph g(%s: f32[3,4]) -> %y {
  %c: f32[3,4] = weight 0
  %k: f32[4]   = weight 1
  %p: f32[3,4] = PRelu(%c, %s)  "p"
  %y: f32[3,4] = Mul(%p, %k)  "y"
}
