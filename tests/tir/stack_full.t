# What is on the stack may fill it: a register of one element takes nothing of it.
-- args
print --ir=loops --passes=SimplifyLoops
-- in
kernel k(X: f32[4096], Y: out f32[4096]) {
  t: f32[4096] @stack
  for i in 4096
    t[i] = X[i] * 2.0
  for i in 4096 {
    acc: f32 @reg = 0
    for j in 4096
      acc[] += t[j] * X[i]
    Y[i] = acc[]
  }
}
-- out
kernel k(X: f32[4096], Y: out f32[4096]) {
  t: f32[4096] @stack
  for i in 4096
    t[i] = X[i] * 2
  for i_1 in 4096 {
    acc: f32 @reg = 0
    for j in 4096
      acc[] += t[j] * X[i_1]
    Y[i_1] = acc[]
  }
}
