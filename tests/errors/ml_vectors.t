# Vectors that are no rows are refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y {
  %y = ai.onnx.ml.SVMRegressor(%x) {n_supports=2, support_vectors=[1,2,3], coefficients=[1,2], rho=[0]} "m"
}
-- err
-:2: node "m" (SVMRegressor): support_vectors has 3 elements, which are no 2 rows
