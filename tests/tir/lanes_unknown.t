# Lanes of a vector are a power of two, of 32 or 64 bits.
-- args
print --ir=loops
-- in
kernel k(X: f32[16], Y: out f32[16]) {
  for i in 12 @vector(i32x12)
    Y[i] = X[i]
}
-- err
-:2: expected lanes as i32x16 or i64x4, saw i32x12
