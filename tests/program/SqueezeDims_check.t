# A dim stays where an index from data into it is checked: without the dim nothing would be reported.
-- args
print --ir=expr --passes=SqueezeDims --verify=each
-- in
expr pick(X: f32[1,5,1], I: i64[3]) -> Y {
  Y[i:3, j:5, k:1]: f32 = X[at(I[i], 0..1, wrap, check), j, k]
}
-- out
expr pick(X: f32[1,5,1], I: i64[3]) -> Y {
  Y[i:3, j:5]: f32 = X[at(I[i], 0..1, wrap, check), j, 0]
}
