# Products one factor of which is copied in panels: one that lies turned, with a bias behind it; rows
# that begin in the same sets of the cache; and neither, which stays a tile of registers.
-- args
print -O2 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%q: f32[3,96,40], %k: f32[3,160,40], %b: f32[160], %c: f32[256,2048], %d: f32[2048,256], %e: f32[256,2000]) -> %y, %z, %u {
  %t = Transpose(%k) {perm=[0,2,1]} "t"
  %m = MatMul(%q, %t) "turned"
  %y = Add(%m, %b) "bias"
  %z = MatMul(%c, %d) "sets"
  %s: i64[1] = {0}
  %l: i64[1] = {2000}
  %f = Slice(%d, %s, %l) "part"
  %u = MatMul(%e, %f) "plain"
}
-- out
kernel k0_bias(vq: f32[3,96,40], vt: f32[3,40,160] strides(6400, 1, 40), vb: f32[160], y: out f32[3,96,160]) "turned + bias" {
  for i0 in 3, i1 in 96, i2 in 160 {
    product: f32 @reg
    acc: f32 @reg = 0
    for k in 40
      acc[] += vq[i0, i1, k] * vt[i0, k, i2]
    product[] = acc[]
    y[i0, i1, i2] = product[] + vb[i2]
  }
}
schedule {
  split i1 8 -> mt, u
  split mt 12 -> mo, mi
  split i2 32 -> nt, nv
  split nv 16 -> w, v
  split nt 2 -> no, ni
  reorder i0, mo, no, mi, ni, v, w, u
  bind i0 @parallel
  bind mo @parallel
  bind no @parallel
  bind v @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  fission w acc @reg -> w_1
  bind w_1 @unroll
  reorder k, w, u
  bind u @unroll
  bind w @unroll
  pack vt at no ac16b @scratch -> wp
  bind wp_3 @vector
  split_tail wp_2 16 -> wt, wu, wr
}
kernel k1_sets(a: f32[256,2048], b: f32[2048,256], product: out f32[256,256]) "sets" {
  for m in 256, n in 256 {
    acc: f32 @reg = 0
    for k in 2048
      acc[] += a[m, k] * b[k, n]
    product[m, n] = acc[]
  }
}
schedule {
  split m 4 -> mt, u
  split mt 32 -> mo, mi
  split n 64 -> nt, nv
  split nv 16 -> w, v
  split nt 1 -> no, ni
  reorder mo, no, mi, ni, v, w, u
  bind mo @parallel
  bind no @parallel
  bind v @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  fission w acc @reg -> w_1
  bind w_1 @unroll
  reorder k, w, u
  bind u @unroll
  bind w @unroll
  pack b at no b16a @scratch -> wp
  bind wp_2 @vector
}
kernel k2_plain(a: f32[256,2000], b: f32[2000,256], product: out f32[256,256]) "plain" {
  for m in 256, n in 256 {
    acc: f32 @reg = 0
    for k in 2000
      acc[] += a[m, k] * b[k, n]
    product[m, n] = acc[]
  }
}
schedule {
  split m 4 -> mt, u
  split mt 32 -> mo, mi
  split n 64 -> nt, nv
  split nv 16 -> w, v
  split nt 1 -> no, ni
  reorder mo, no, ni, mi, v, w, u
  bind mo @parallel
  bind no @parallel
  bind v @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  fission w acc @reg -> w_1
  bind w_1 @unroll
  reorder k, w, u
  bind u @unroll
  bind w @unroll
  fetch ni b 1 at ni
}
