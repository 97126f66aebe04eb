# Across rows: a tile of what is read lies turned; what is added on the way stays as it is. Bytes
# have longer tiles instead.
-- args
print -O3 --no-vendor --schedule --target cpu:x86-64-v4
-- in
graph heads(%x: f32[2,197,12,64], %b: f32[64,1], %h: i8[300,200]) -> %y, %z {
  %t = Transpose(%x) {perm=[0,2,3,1]} "turn"
  %y = Add(%t, %b) "bias"
  %z = Transpose(%h) {perm=[1,0]} "bytes"
}
-- out
kernel k0_bias(vx: f32[2,197,12,64], vb: f32[64], y: out f32[2,12,64,197]) "turn + bias" {
  for i0 in 2, i1 in 12, i2 in 64, i3 in 197
    y[i0, i1, i2, i3] = vx[i0, i3, i1, i2] + vb[i2]
}
schedule {
  split i2 16 -> block, line
  split i3 16 -> piece, lane
  reorder piece, block, line
  bind i0 @parallel
  bind i1 @parallel
  bind piece @parallel
  bind block @parallel
  bind lane @vector
  pack vx at block acdb @stack -> turned
  bind turned_3 @vector
  fetch block vx, y 1 at block
}
kernel k1_bytes(data: i8[300,200], transposed: out i8[200,300]) "bytes" {
  for i0 in 200, i1 in 300
    transposed[i0, i1] = data[i1, i0]
}
schedule {
  split i0 64 -> block, line
  split i1 64 -> piece, lane
  reorder piece, block, line
  bind piece @parallel
  bind block @parallel
  bind lane @vector
}
