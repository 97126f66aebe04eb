# Floats that no integer holds, where an integer is wanted, are the nearest one.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: i32[4]) -> %y {
  %y = Shrink(%x) {bias=-1e30, lambd=3e38}  "shrink"
}
-- out
# shrink (Shrink)
expr Shrink(x: i32[4]) -> y {
  y[i0:4]: i32 = x[i0] < -2147483647 ? x[i0] + -2147483648 : x[i0] > 2147483647 ? x[i0] - -2147483648 : 0
}
