# Transforms of windows: each of six sums reads the same images, a vector of which serves all of them. Along
# n or w, which are further inside, the sums share only a number of B.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v3
-- in
graph g(%x: f32[4,14,5,32]) -> %v {
  %b: f32[6,6] = weight 0
  %v = Expression(%b, %x) {expr="expr f(B: f32[6,6], X: f32[4,14,5,32]) -> V { V[t:6, n:4, p:3, w:5, c:32]: f32 = sum(i:6 where 0 <= p*4+i-1, 0 <= 14-p*4-i) B[t, i] * X[n, p*4+i-1, w, c] }"}
}
-- out
kernel k0_Expression(x0: f32[6,6], x1: f32[4,14,160], V: out f32[6,4,3,160]) "Expression" {
  for t in 6, n in 4, p in 3, w in 160 {
    acc: f32 @reg = 0
    for i in 6
      if (0 <= p*4+i-1 && 0 <= 14-p*4-i)
        acc[] += x0[t, i] * x1[n, p*4+i-1, w]
    V[t, n, p, w] = acc[]
  }
}
schedule {
  split t 6 -> tile, u
  reorder n, p, w, u
  bind tile @parallel
  bind n @parallel
  bind p @parallel
  bind w @vector
  bind u @unroll
  fission u acc @reg -> u_1
  reorder i, u
  unswitch u
}
