# What only a scatter's target reads keeps its dims, as the updates do.
-- args
print --ir=expr --passes=CollapseDims
-- in
expr s(X: f32[4,6], I: i64[N,6], U: f32[N,6]) -> Y {
  Y = scatter X, (i:N, j:6) in order: [at(I[i,j], 0..4, wrap, check), j] add= U[i,j]
}
-- out
expr s(X: f32[4,6], I: i64[N,6], U: f32[N,6]) -> Y {
  Y = scatter X, (i:N, j:6) in order: [at(I[i, j], 0..4, wrap, check), j] add= U[i, j]
}
