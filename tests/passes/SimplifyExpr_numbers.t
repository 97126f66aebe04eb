# Constants count as a number only where all of their elements are it.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[N,3], %z: f32[N,2]) -> %a, %b, %c {
  %last: f32[3] = {1, 1, 2}
  %second: f32[2] = {1, 2}
  %ones: f32[3] = {1, 1, 1}
  %p = Mul(%x, %last)
  %a = Exp(%p)  "the last is 2"
  %q = Div(%z, %second)
  %b = Exp(%q)  "the second is 2"
  %r = Mul(%x, %ones)
  %c = Exp(%r)  "all are 1"
}
-- out
graph g(%x: f32[N,3], %z: f32[N,2]) -> %a, %b, %c {
  %last: f32[3]   = weight 0
  %second: f32[2] = {1, 2}
  %p: f32[N,3] = Mul(%x, %last)
  %a: f32[N,3] = Exp(%p)  "the last is 2"
  %q: f32[N,2] = Div(%z, %second)
  %b: f32[N,2] = Exp(%q)  "the second is 2"
  %c: f32[N,3] = Exp(%x)  "all are 1"
}
