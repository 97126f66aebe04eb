# Dims that must agree and are not provably equal are assumed so, and binding checks them.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,3,H,W]) -> %y {
  %pool = AveragePool(%x) {kernel_shape=[2,2], strides=[2,2]}
  %scale: i64[4] = {1, 1, 2, 2}
  %up = Tile(%pool, %scale)
  %y = Add(%x, %up)
}
-- out
graph g(%x: f32[N,3,H,W]) -> %y {
  assume H == H/2*2  "dim 2 of the inputs"
  assume W == W/2*2  "dim 3 of the inputs"
  %scale: i64[4] = {1, 1, 2, 2}
  %pool: f32[N,3,H/2,W/2]   = AveragePool(%x) {kernel_shape=[2,2], strides=[2,2]}
  %up: f32[N,3,H/2*2,W/2*2] = Tile(%pool, %scale)
  %y: f32[N,3,H,W]          = Add(%x, %up)
}
