# A loop is made of those that its variable is taken apart into, also where its extent is a symbol's
# multiple and where a quotient is taken of a remainder or the other way round. Not where the divisors
# do not divide each other or the extent, nor where lanes count.
-- args
print --ir=loops --passes=UnfuseLoops --verify=each
-- in
kernel fused(N, X: f32[N*24 + 1000], Y: out f32[N*24 + 1000]) flat {
  for k in N*12
    Y[k] += X[k/12 + k%12/4*N + k/2%2*3 + k%2]
  for k in 24, i in 6 {
    Y[k + i] += X[k/4 + i/3]
    Y[k/8] += X[i%3]
  }
  for k in 24
    Y[k] += X[k/4 + k/6]
  for k in 25
    Y[k] += X[k/4]
  for k in 8 @vector(i32x8)
    Y[k] += X[k/2]
}
-- out
kernel fused(N, X: f32[N*24+1000], Y: out f32[N*24+1000]) flat {
  for k in N, k_1 in 3, k_2 in 2, k_3 in 2
    Y[k_3+k_2*2+k_1*4+k*12] += X[k_1*N+k_3+k_2*3+k]
  for k_1_1 in 3, k_1_2 in 2, k_1_3 in 4, i in 2, i_1 in 3 {
    Y[i_1+i*3+k_1_3+k_1_2*4+k_1_1*8] += X[i+k_1_2+k_1_1*2]
    Y[k_1_1] += X[i_1]
  }
  for k_2_1 in 24
    Y[k_2_1] += X[k_2_1/4+k_2_1/6]
  for k_3_1 in 25
    Y[k_3_1] += X[k_3_1/4]
  for k_4 in 8 @vector(i32x8)
    Y[k_4] += X[k_4/2]
}
