# Formulas take attributes and defaults; what moves elements only reads elsewhere.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[N,H,8], %i: i64[N]) -> %y {
  %hi: f32 = {6}
  %axis: i64[1] = {1}
  %one: i64[1] = {1}
  %far: i64[1] = {9223372036854775807}
  %pads: i64[6] = {0, 1, 0, 0, 1, 0}
  %shape: i64[4] = {0, 0, 2, 4}
  %a = Clip(%x, _, %hi)
  %b = Elu(%a) {alpha=0.5}
  %c = Div(%i, %i)
  %d = Sum(%b, %hi, %b)
  %e = Slice(%d, %one, %far, %axis)
  %f = Pad(%d, %pads)
  %g = Concat(%d, %f) {axis=1}
  %h = Reshape(%d, %shape)
  %k = ReduceL2(%d, %axis) {keepdims=0}
  %y = CumSum(%d, %one)
}
-- out
#  (Clip)
expr Clip(x: f32[N,H,8], hi: f32[]) -> y {
  y[i0:N, i1:H, i2:8]: f32 = min(max(x[i0, i1, i2], -inf), hi[])
}
#  (Elu)
expr Elu(x: f32[N,H,8]) -> y {
  y[i0:N, i1:H, i2:8]: f32 = x[i0, i1, i2] < 0 ? 0.5 * (exp(x[i0, i1, i2]) - 1) : x[i0, i1, i2]
}
#  (Div)
expr Div(a: i64[N]) -> y {
  y[i0:N]: i64 = quot(a[i0], a[i0])
}
#  (Sum)
expr Sum(x0: f32[N,H,8], x1: f32[]) -> y {
  y[i0:N, i1:H, i2:8]: f32 = x0[i0, i1, i2] + x1[] + x0[i0, i1, i2]
}
#  (Slice)
expr Slice(data: f32[N,H,8], starts: i64[1], ends: i64[1], axes: i64[1]) -> output {
  output[i0:N, i1:max(0, H-1), i2:8]: f32 = data[i0, at(1+i1, 0..H, check), i2]
}
#  (Pad)
expr Pad(data: f32[N,H,8], pads: i64[6]) -> output {
  output[i0:N, i1:H+2, i2:8]: f32 = data[i0, i1-1, i2] else 0
}
#  (Concat)
expr Concat(inputs0: f32[N,H,8], inputs1: f32[N,H+2,8]) -> concat_result {
  concat_result[i0:N, i1:H*2+2, i2:8]: f32 = inputs0[i0, i1, i2] else inputs1[i0, i1-H, i2]
}
#  (Reshape)
expr Reshape(data: f32[N,H,8], shape: i64[4]) -> reshaped {
  reshaped[i0:N, i1:H, i2:2, i3:4]: f32 = data[i0, i1, i2*4+i3]
}
#  (ReduceL2)
expr ReduceL2(x: f32[N,H,8], axes: i64[1]) -> y {
  sum[i0:N, i1:8]: f32 = sum(k:H) x[i0, k, i1] * x[i0, k, i1]
  y[i0:N, i1:8]: f32 = sqrt(sum[i0, i1])
}
#  (CumSum)
expr CumSum(x: f32[N,H,8], axis: i64[1]) -> y {
  y[i0:N, i1:H, i2:8]: f32 = scan i1 from 0: prev + x[i0, i1, i2]
}
