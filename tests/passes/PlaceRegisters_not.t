# Rows of memory: an index known at run time alone, vectors beside elements, vectors that lie across
# two, other lanes, values too wide for the lanes. In a vector: a row of registers.
-- args
print --ir=loops --passes=PlaceRegisters
-- in
kernel rows(N, X: f32[4*N], Y: out f32[32], Z: out i64[4]) flat {
  any: f32[3,4] @reg = 0
  for k in N
    any[k%3, 2] += X[k]
  both: f32[16] @reg = 0
  both[3] = any[1, 2]
  across: f32[32] @reg = 0
  lanes: f32[16] @reg = 0
  wide: i64[4] @reg = 0
  whole: bool[4] @reg = false
  for i in 4 @vector(i32x4) {
    across[i+2] = both[i]
    lanes[i] = X[i]
    wide[i] = i
    whole[i] = X[i] < 1
    row: f32[2,2] @reg = 0
    for k in 2
      row[k, 1] = X[i]
    Y[i] = row[0, 1]
  }
  for i in 8 @vector(i32x8)
    Y[i+8] = lanes[i] + across[i]
  for i in 4 @vector(i64x4)
    Z[i] = whole[i] ? wide[i] : 0
}
-- out
kernel rows(N, X: f32[N*4], Y: out f32[32], Z: out i64[4]) flat {
  any: f32[12] @stack = 0
  for k in N
    any[k%3*4+2] += X[k]
  both: f32[16] @stack = 0
  both[3] = any[6]
  across: f32[32] @stack = 0
  lanes: f32[16] @stack = 0
  wide: i64[4] @stack = 0
  whole: bool[4] @stack = false
  for i in 4 @vector(i32x4) {
    across[i+2] = both[i]
    lanes[i] = X[i]
    wide[i] = i
    whole[i] = X[i] < 1
    row: f32[4] @reg = 0
    for k_1 in 2
      row[k_1*2+1] = X[i]
    Y[i] = row[1]
  }
  for i_1 in 8 @vector(i32x8)
    Y[i_1+8] = lanes[i_1] + across[i_1]
  for i_2 in 4 @vector(i64x4)
    Z[i_2] = whole[i_2] ? wide[i_2] : 0
}
