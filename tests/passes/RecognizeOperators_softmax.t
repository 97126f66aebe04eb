# With the largest taken away; without it numbers differ.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,7,3]) -> %y, %z {
  %ax: i64[1] = {1}
  %m = ReduceMax(%x, %ax)
  %d = Sub(%x, %m)
  %e = Exp(%d)
  %s = ReduceSum(%e, %ax)
  %y = Div(%e, %s)  "softmax"
  %e2 = Exp(%x)
  %s2 = ReduceSum(%e2, %ax)
  %z = Div(%e2, %s2)  "may overflow"
}
-- out
graph g(%x: f32[N,7,3]) -> %y, %z {
  %ax: i64[1] = {1}
  %y: f32[N,7,3]  = Softmax(%x) {axis=-2}  "softmax"
  %e2: f32[N,7,3] = Exp(%x)
  %s2: f32[N,1,3] = ReduceSum(%e2, %ax)
  %z: f32[N,7,3]  = Div(%e2, %s2)  "may overflow"
}
