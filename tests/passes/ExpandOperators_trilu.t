# ONNX Runtime's Trilu is the standard's.
-- args
print --passes=ExpandOperators,InferShapes
-- in
graph g(%x: f32[N,4,4]) -> %y, %z {
  %k: i64 = {-1}
  %y = com.microsoft.Trilu(%x, %k) {upper=0}
  %z = com.microsoft.Trilu(%x)
}
-- out
graph g(%x: f32[N,4,4]) -> %y, %z {
  %k: i64 = {-1}
  %y: f32[N,4,4] = Trilu(%x, %k) {upper=0}
  %z: f32[N,4,4] = Trilu(%x)
}
