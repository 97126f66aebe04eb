# Rows of another width than the model knows are refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y {
  %y = ai.onnx.ml.LinearRegressor(%x) {coefficients=[1,2]} "m"
}
-- err
-:2: node "m" (LinearRegressor): features of a row, and those the model knows: 3 and 2 differ (inputs x: f32[N,3])
