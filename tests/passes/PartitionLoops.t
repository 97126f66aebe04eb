# A loop is cut where the bounds of those in it turn from one sum into the other, twice if need be.
# Not where that is known at run time alone.
-- args
print --ir=loops --passes=PartitionLoops --verify=each
-- in
kernel tails(N, X: f32[4000], Y: out f32[4000]) {
  for io in 4, ii in min(32, 100 - io*32)
    Y[io*32 + ii] = X[ii]
  for p in 10, r in max(0, 2 - p)..min(5, 12 - p)
    Y[p] += X[p + r]
  for io in 4, ii in min(32, 7*N - io*32)
    Y[ii] += X[ii]
  for io in 4, ii in 8, j in min(ii, 4)
    Y[io + ii + j] += X[ii]
}
-- out
kernel tails(N, X: f32[4000], Y: out f32[4000]) {
  for io in 3, ii in 32
    Y[ii+io*32] = X[ii]
  for ii_1 in 4
    Y[ii_1+96] = X[ii_1]
  for p in 2, r in 2-p..5
    Y[p] += X[p+r]
  for p_1 in 2..7, r_1 in 5
    Y[p_1] += X[p_1+r_1]
  for p_2 in 7..10, r_2 in 12-p_2
    Y[p_2] += X[p_2+r_2]
  for io_1 in 4, ii_1_1 in min(32, N*7-io_1*32)
    Y[ii_1_1] += X[ii_1_1]
  for io_2 in 4 {
    for ii_2 in 4, j in ii_2
      Y[ii_2+io_2+j] += X[ii_2]
    for ii_2_1 in 4..8, j_1 in 4
      Y[ii_2_1+io_2+j_1] += X[ii_2_1]
  }
}
