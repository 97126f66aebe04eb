# Integers are shrunk by floats as they are, in f64, whatever integers hold.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: i32[4]) -> %y {
  %y = Shrink(%x) {bias=-1e30, lambd=3e38}  "shrink"
}
-- out
# shrink (Shrink)
expr Shrink(x: i32[4]) -> y {
  y[i0:4]: i32 = i32(f64(x[i0]) < -3.0000000054977558e+38 ? f64(x[i0]) + -1.0000000150474662e+30 : f64(x[i0]) > 3.0000000054977558e+38 ? f64(x[i0]) - -1.0000000150474662e+30 : 0)
}
