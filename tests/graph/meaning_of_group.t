# The meaning of a group is the composition of its nodes' stages.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[N,8]) -> %y {
  %axes: i64[1] = {1}
  %y = fused(%x, %axes)  "norm" {
    %m = ReduceMean(%x, %axes)
    %d = Sub(%x, %m)
    %q = Mul(%d, %d)
    %v = ReduceMean(%q, %axes)
    %s = Sqrt(%v)
    %r = Div(%d, %s)
    yield %r
  }
}
-- out
# norm (fused)
expr fused(vx: f32[N,8], vaxes: i64[1]) -> y_6 {
  sum[i0:N, i1:1]: f32 = sum(k:8) vx[i0, k]
  y[i0:N, i1:1]: f32 = sum[i0, i1] / 8
  y_2[i0:N, i1:8]: f32 = vx[i0, i1] - y[i0, 0]
  y_3[i0:N, i1:8]: f32 = y_2[i0, i1] * y_2[i0, i1]
  sum_2[i0:N, i1:1]: f32 = sum(k:8) y_3[i0, k]
  y_4[i0:N, i1:1]: f32 = sum_2[i0, i1] / 8
  y_5[i0:N, i1:1]: f32 = sqrt(y_4[i0, 0])
  y_6[i0:N, i1:8]: f32 = y_2[i0, i1] / y_5[i0, 0]
}
