# A quotient of loop variables is taken apart before the variables are, whose bounds depend on each other.
-- args
print --ir=loops --passes=SimplifyLoops
-- in
kernel k(B: f32[20], Y: out f32[14]) {
  c7: f32[7,3] @scratch
  for i in 7, j in 3
    c7[i, j] = B[i]
  for m in 14 {
    acc: f32 @reg = 0
    for o13 in 3, i13 in min(8, 20-o13*8)
      acc[] += c7[o13*2+(i13+o13*2)/3, 0] * B[o13*8+i13]
    Y[m] = acc[]
  }
}
-- out
kernel k(B: f32[20], Y: out f32[14]) {
  c7: f32[7,3] @scratch
  for i in 7, j in 3
    c7[i, j] = B[i]
  for m in 14 {
    acc: f32 @reg = 0
    for o13 in 3, i13 in min(8, 20-o13*8)
      acc[] += c7[o13*2+(i13+o13*2)/3, 0] * B[i13+o13*8]
    Y[m] = acc[]
  }
}
