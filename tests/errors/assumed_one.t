# Slice takes %at for one element: that it broadcasts is not in its own type. Refused when checked,
# not when run.
-- args
print --passes=InferShapes
-- in
graph g(%o: i64[N], %i: i64[1], %j: i64[1], %x: i64[8], %m: i64[1]) -> %row, %y {
  %at  = Slice(%o, %i, %j)  "at"
  %row = Slice(%x, %at, %m)  "row"
  %y   = Add(%x, %at)  "add"
}
-- err
-:4: node "add" (Add): dim 0 of the inputs: that one of them is 1 is only known at run time
