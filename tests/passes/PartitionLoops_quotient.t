# Where a bound is a quotient of the counter, the loop is cut where the two change places, too.
-- args
print --ir=loops --passes=PartitionLoops
-- in
kernel row(X: f32[64], W: f32[3], Y: out f32[64]) {
  for q in 64 {
    acc: f32 @reg = 0
    for r in max(0, 1-q/2)..min(3, (1-q)/2+33)
      acc[] += X[q] * W[r]
    Y[q] = acc[]
  }
}
-- out
kernel row(X: f32[64], W: f32[3], Y: out f32[64]) {
  for q in 2 {
    acc: f32 @reg = 0
    for r in 1..3
      acc[] += X[q] * W[r]
    Y[q] = acc[]
  }
  for q_1 in 2..62 {
    acc_1: f32 @reg = 0
    for r_1 in 3
      acc_1[] += X[q_1] * W[r_1]
    Y[q_1] = acc_1[]
  }
  for q_2 in 62..64 {
    acc_2: f32 @reg = 0
    for r_2 in 2
      acc_2[] += X[q_2] * W[r_2]
    Y[q_2] = acc_2[]
  }
}
