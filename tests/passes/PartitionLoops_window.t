# The last rows of a window end before its loop does: what the verifier knows of r in 21-p is that of both.
-- args
print --ir=loops --passes=PartitionLoops
-- in
kernel rows(X: f32[20,28], Y: out f32[20,2]) {
  for p in 20, q in 2 {
    acc: f32 @reg = 0
    for r in max(0, 1-p)..min(3, 21-p), u in 14
      if (0 <= q*14+u-1)
        acc[] += X[p+r-1, q*14+u-1]
    Y[p, q] = acc[]
  }
}
-- out
kernel rows(X: f32[20,28], Y: out f32[20,2]) {
  for q in 2 {
    acc: f32 @reg = 0
    for r in 1..3, u in 14
      if (0 <= q*14+u-1)
        acc[] += X[r-1, q*14+u-1]
    Y[0, q] = acc[]
  }
  for p in 1..18, q_1 in 2 {
    acc_1: f32 @reg = 0
    for r_1 in 3, u_1 in 14
      if (0 <= q_1*14+u_1-1)
        acc_1[] += X[p+r_1-1, q_1*14+u_1-1]
    Y[p, q_1] = acc_1[]
  }
  for p_1 in 18..20, q_2 in 2 {
    acc_2: f32 @reg = 0
    for r_2 in 21-p_1, u_2 in 14
      if (0 <= q_2*14+u_2-1)
        acc_2[] += X[p_1+r_2-1, q_2*14+u_2-1]
    Y[p_1, q_2] = acc_2[]
  }
}
