# A tensor of three axes is no table of features.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,2,3]) -> %y {
  %y = ai.onnx.ml.Scaler(%x) {offset=[1], scale=[2]} "m"
}
-- err
-:2: node "m" (Scaler): input of rank 3, expected rows of features (2), or a row (1)
