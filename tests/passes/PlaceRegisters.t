# Constant indices: a register each. Whole vectors of equal lanes: a vector register each, the last
# of a row shorter. What is made in a vector has one per lane.
-- args
print --ir=loops --passes=PlaceRegisters
-- in
kernel named(N, X: f32[24*N], Y: out f32[50], Z: out f64[16]) flat {
  pair: f64[2,1] @reg = 1
  acc: f32[2,24] @reg = 0
  for k in N {
    for i in 16 @vector(i32x16)
      acc[0, i] += X[k*24+i]
    for i in 8 @vector(i32x16) {
      own: f32[2] @reg = 0
      own[1] = X[k*24+i+16]
      acc[1, i+16] += own[0] + own[1]
    }
    pair[1, 0] += pair[0, 0]
  }
  for i in 8 @vector(i32x16)
    Y[i] = acc[1, i+16]
  for i in 16 @vector(i32x16)
    Y[i+16] = acc[0, i] + acc[1, i]
  for i in 4 @vector(i64x4)
    Z[i] = pair[1, 0]
}
-- out
kernel named(N, X: f32[N*24], Y: out f32[50], Z: out f64[16]) flat {
  pair_0: f64 @reg = 1
  pair_1: f64 @reg = 1
  acc_0: f32[16] @reg(16) = 0
  acc_1: f32[8] @reg(16) = 0
  acc_2: f32[16] @reg(16) = 0
  acc_3: f32[8] @reg(16) = 0
  for k in N {
    for i in 16 @vector(i32x16)
      acc_0[i] += X[k*24+i]
    for i_1 in 8 @vector(i32x16) {
      own_0: f32 @reg = 0
      own_1: f32 @reg = 0
      own_1[] = X[k*24+i_1+16]
      acc_3[i_1] += own_0[] + own_1[]
    }
    pair_1[] += pair_0[]
  }
  for i_2 in 8 @vector(i32x16)
    Y[i_2] = acc_3[i_2]
  for i_3 in 16 @vector(i32x16)
    Y[i_3+16] = acc_0[i_3] + acc_2[i_3]
  for i_4 in 4 @vector(i64x4)
    Z[i_4] = pair_1[]
}
