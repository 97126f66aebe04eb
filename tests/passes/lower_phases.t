# A transposed convolution: each phase of the result takes its own taps, which are stored together.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v3
-- in
graph g(%x: f32[1,4,3,3]) -> %y {
  %w: f32[4,16,4,4] = weight 0
  %y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]} "y"
}
-- out
kernel k0_y(x: f32[4,3,3], w: f32[2,2,2,4,2,2,8], conv: out f32[2,8,3,2,3,2]) "y" {
  for f in 2, b in 8, p in 3, b_1 in 2, q in 3, b_2 in 2 {
    acc: f32 @reg = 0
    for c in 4, r in 2, s in 2
      if (0 <= p-r+(b_1+1)/2 && p-r+(b_1+1)/2 < 3 && 0 <= q-s+(b_2+1)/2 && q-s+(b_2+1)/2 < 3)
        acc[] += x[c, p-r+(b_1+1)/2, q-s+(b_2+1)/2] * w[f, (b_1+1)%2, (b_2+1)%2, c, r, s, b]
    conv[f, b, p, b_1, q, b_2] = acc[]
  }
}
schedule {
  split q 3 -> tile, u
  split f 2 -> blocks, v
  reorder p, b_1, b_2, blocks, tile, b, u, v
  bind p @parallel
  bind b_1 @parallel
  bind b_2 @parallel
  bind blocks @parallel
  bind tile @parallel
  cache_write conv at tile @stack -> turned
  bind turned_2 @vector
  bind b @vector
  fission v acc @reg -> v_1
  bind v_1 @unroll
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, r, s, u, v
  bind s @unroll
  bind u @unroll
  bind v @unroll
}
