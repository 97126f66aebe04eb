# Slice takes %at for one element: that %p, of the same length, broadcasts is not in its own type.
# Refused when checked, not when run.
-- args
print --passes=InferShapes
-- in
graph g(%o: i64[N], %i: i64[1], %j: i64[1], %x: i64[8,2,2], %w: i64[N,2,2]) -> %row, %y {
  %p   = Slice(%w, %i, %j)  "p"
  %at  = Slice(%o, %i, %j)  "at"
  %row = Slice(%x, %at, %j)  "row"
  %y   = MatMul(%x, %p)  "product"
}
-- err
-:5: node "product" (MatMul): leading dims of a and b: that one of them is 1 is only known at run time
