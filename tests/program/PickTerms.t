# Every second term is in the sum.
-- args
print --ir=expr --passes=PickTerms
-- in
expr f(X: f32[8], W: f32[4]) -> Y {
  Y[p:16]: f32 = sum(r:4 where (p + 1 - r) % 2 == 0, 0 <= (p + 1 - r) / 2, (p + 1 - r) / 2 < 8) X[(p + 1 - r) / 2] * W[r]
}
-- out
expr f(X: f32[8], W: f32[4]) -> Y {
  Y[p:16]: f32 = sum(r:2 where 0 <= (p+1)/2-r, (p+1)/2-r < 8) X[(p+1)/2-r] * W[r*2+(p+1)%2]
}
