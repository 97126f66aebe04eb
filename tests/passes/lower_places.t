# Behind memory of its own: inputs, outputs, a condition, a symbol and what a host operator reads lie
# with the host, the rest on the device, and copies go between; a branch needs none.
-- args
print -O2 --lower --no-vendor --target test:x86-64-v3
-- in
graph g(%x: f32[2,3], %c: bool) -> %y, %z {
  %r = Relu(%x)  "relu"
  %i = NonZero(%r)  "nonzero"
  %y = Cast(%i) {to=1}  "cast"
  %z = If(%c)  "if" then_branch {
    %t = Sqrt(%r)
    yield %t
  } else_branch {
    %e = Neg(%r)
    yield %e
  }
}
-- out
module g(%x, %c) -> %y, %z {
  D0 = dim 1 of %i
  %x: f32[2,3] = input @host
  %c: bool = input @host
  %r: f32[2,3] = temp
  %i: i64[2,D0] = temp data-sized @host
  %y: f32[2,D0] = output @host
  %z: f32[2,3] = output @host
  %x': f32[2,3] = temp
  %r': f32[2,3] = temp @host
  %i': i64[2,D0] = temp data-sized
  %y': f32[2,D0] = temp
  %z': f32[2,3] = temp
  copy(%x, out %x')  "x to the device"
  kernel(%x', out %r)  "relu"
kernel k0_relu(x: f32[6], y: out f32[6]) flat "relu" {
  for i0 in 6 @vector(i32x8)
    y[i0] = max(x[i0], 0)
}
  copy(%r, out %r')  "r to the host"
  host NonZero(%r', out %i)  "nonzero"
  copy(%i, out %i')  "i to the device"
  kernel(%i', out %y')  "cast"
kernel k1_cast(D0, input: i64[D0*2], output: out f32[D0*2]) flat "cast" {
  for v in D0/4 {
    let h0 = v*8
    for i0 in 8 @vector(i32x8)
      output[h0+i0] = f32(input[h0+i0])
  }
  if (0 < D0%4) {
    let h1 = D0/4*8
    for i0_1 in D0%4*2 @vector(i32x8)
      output[h1+i0_1] = f32(input[h1+i0_1])
  }
}
  copy(%y', out %y)  "y' to the host"
  if(%c, out %z')  "if"
  copy(%z', out %z)  "z' to the host"
}
module then_branch() -> %t {
  %r: f32[2,3] = capture of %r
  %t: f32[2,3] = output
  kernel(%r, out %t)  "Sqrt"
kernel k2_Sqrt(x: f32[6], y: out f32[6]) flat "Sqrt" {
  for i0 in 6 @vector(i32x8)
    y[i0] = sqrt(x[i0])
}
}
module else_branch() -> %e {
  %r: f32[2,3] = capture of %r
  %e: f32[2,3] = output
  kernel(%r, out %e)  "Neg"
kernel k3_Neg(x: f32[6], y: out f32[6]) flat "Neg" {
  for i0 in 6 @vector(i32x8)
    y[i0] = -x[i0]
}
}
