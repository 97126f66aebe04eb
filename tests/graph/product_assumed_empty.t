# A product of what a slice leaves: as many rows, none, as it has columns.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[1,M]) -> %z {
  %starts: i64[2] = {6,3}
  %ends:   i64[2] = {-2,1}
  %axes:   i64[2] = {1,-2}
  %y = Slice(%x, %starts, %ends, %axes)
  %z = MatMul(%y, %y)
}
-- has
  assume max(0, M-8) == 0
  product[m:0, n:max(0, M-8)]: f32 = sum(k:max(0, M-8)) a[m, k] * a[k, n]
