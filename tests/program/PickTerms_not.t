# A stride that is not known to leave terms alone picks none: the condition is no residue, or r has
# another factor than the stride is prime to.
-- args
print --ir=expr --passes=PickTerms
-- in
expr f(X: f32[8], W: f32[4]) -> Y, Z {
  Y[p:16]: f32 = sum(r:4 where r < p) X[p / 2] * W[r]
  Z[p:16]: f32 = sum(r:4 where (p + 2 * r) % 2 == 0) X[p / 2] * W[r]
}
-- out
expr f(X: f32[8], W: f32[4]) -> Y, Z {
  Y[p:16]: f32 = sum(r:4 where r < p) X[p/2] * W[r]
  Z[p:16]: f32 = sum(r:4 where (p+2*r)%2 == 0) X[p/2] * W[r]
}
