# The same of a place that is scattered to: result and what it starts from keep their dims.
-- args
print --ir=expr --passes=SqueezeDims --verify=each
-- in
expr put(X: f32[1,5], I: i64[3,5], U: f32[3,5]) -> Y {
  Y = scatter X, (i:3, j:5) in order: [at(I[i, j], 0..1, wrap, check), j] add= U[i, j]
}
-- out
expr put(X: f32[1,5], I: i64[3,5], U: f32[3,5]) -> Y {
  Y = scatter X, (i:3, j:5) in order: [at(I[i, j], 0..1, wrap, check), j] add= U[i, j]
}
