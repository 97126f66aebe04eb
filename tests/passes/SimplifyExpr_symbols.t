# A value stays that a symbol is read from, though no node reads it any more: that the sizes are equal
# is still to be checked.
-- args
print --passes=SimplifyExpr
-- in
graph g(%x: f32[8,1], %b: f32[8,5], %s: i64[2]) -> %y {
  %n = Neg(%s)
  %e = Expand(%x, %n)
  %y = Add(%e, %b)
}
-- out
graph g(%x: f32[8,1], %b: f32[8,5], %s: i64[2]) -> %y {
  symbol E0 = %n[0]
  symbol X1 = E0 == 1 ? 8 : E0
  symbol E2 = %n[1]
  assume X1 == 8  "the input's dim and the shape's"
  assume E2 == 5  "dim 1 of the inputs"
  %n: i64[2]   = Neg(%s)
  %y: f32[8,5] = Add(%x, %b)
}
