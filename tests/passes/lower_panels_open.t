# The same where nothing divides: both products of attention, of any batch and length, and one of 113
# rows, whose last tiles go on behind the end.
-- args
print -O2 --schedule --no-vendor --target cpu:x86-64-v4 --shape B=2 --shape S=128 --shape T=128
-- in
graph g(%q: f32[B,S,64], %k: f32[B,T,64], %v: f32[B,T,64], %a: f32[113,80], %b: f32[80,300]) -> %y, %z, %u {
  %t = Transpose(%k) {perm=[0,2,1]} "turned"
  %y = MatMul(%q, %t) "scores"
  %z = MatMul(%y, %v) "values"
  %u = MatMul(%a, %b) "odd"
}
-- out
kernel k0_scores(B, S, T, a: f32[B,S,64], b: f32[B,64,T] strides(T*64, 1, 64), product: out f32[B,S,T]) "scores" {
  for i0 in B, m in S, n in T {
    acc: f32 @reg = 0
    for k in 64
      acc[] += a[i0, m, k] * b[i0, k, n]
    product[i0, m, n] = acc[]
  }
}
schedule {
  split_whole m 4 -> mt, u
  split mt 16 -> mo, mi
  split_whole n 64 -> nt, nv
  split nv 16 -> w, v
  split nt 1 -> no, ni
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
  pack b at no ac16b @scratch -> wp
  bind wp_3 @vector
  split_tail wp_2 16 -> wt, wu, wr
}
kernel k2_odd(a: f32[113,80], b: f32[80,300], product: out f32[113,300]) "odd" {
  for m in 113, n in 300 {
    acc: f32 @reg = 0
    for k in 80
      acc[] += a[m, k] * b[k, n]
    product[m, n] = acc[]
  }
}
schedule {
  split_whole m 4 -> mt, u
  split mt 15 -> mo, mi
  split_whole n 64 -> nt, nv
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
kernel k1_values(B, S, T, a: f32[B,S,T], b: f32[B,T,64], product: out f32[B,S,64]) "values" {
  for i0 in B, m in S, n in 64 {
    acc: f32 @reg = 0
    for k in T
      acc[] += a[i0, m, k] * b[i0, k, n]
    product[i0, m, n] = acc[]
  }
}
schedule {
  split_whole m 4 -> mt, u
  split mt 16 -> mo, mi
  split n 64 -> nt, nv
  split nv 16 -> w, v
  split nt 1 -> no, ni
  reorder i0, mo, no, ni, mi, v, w, u
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
}
