# Slice takes %at for one element, which is all that is known of its length: it broadcasts.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%o: i64[N], %i: i64[1], %j: i64[1], %x: i64[8], %m: i64[1]) -> %row, %y {
  %at  = Slice(%o, %i, %j)  "at"
  %row = Slice(%x, %at, %m)  "row"
  %y   = Add(%x, %at)  "add"
}
-- has
  y[i0:8]: i64 = a[i0]+b[0]
