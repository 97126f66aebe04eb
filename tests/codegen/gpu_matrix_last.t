# A convolution whose channels lie last, in the weights, too: they are the term that moves fastest, so
# that slices of both are copied in runs.
-- args
print -O3 --disable DeriveExpressions,SplitReduction --target=cuda:sm_90 --schedule
-- in
graph g(%x: f16[2,14,14,64], %w: f16[64,3,3,64]) -> %y {
  %y = Expression(%x, %w) {expr="expr c(X: f16[2,14,14,64], W: f16[64,3,3,64]) -> Y { Y[n:2, p:12, q:12, f:64]: f32 = sum(c:64, r:3, s:3) f32(X[n, p+r, q+s, c]) * f32(W[f, r, s, c]) }"} "conv"
}
-- out
kernel k0_conv(x0: f16[2,14,14,64], x1: f16[64,3,3,64], Y: out f32[2,12,12,64]) "conv" {
  for n in 2, p in 12, q in 12, f in 64 {
    acc: f32 @reg = 0
    for c in 64, r in 3, s in 3
      acc[] += f32(x0[n, p+r, q+s, c]) * f32(x1[f, r, s, c])
    Y[n, p, q, f] = acc[]
  }
}
schedule {
  reorder n, p, q, f
  fuse n, p -> i
  fuse i, q -> i_1
  split_whole i_1 32 -> rows, inner
  split inner 16 -> warp_rows, inner_1
  split inner_1 16 -> m, mi
  split_whole f 32 -> columns, inner_2
  split inner_2 16 -> warp_columns, inner_3
  split inner_3 8 -> n_1, ni
  reorder r, s, c
  fuse r, s -> i_2
  fuse i_2, c -> i_3
  split_whole i_3 64 -> slice, inner_4
  split inner_4 16 -> k, ki
  reorder rows, columns, warp_rows, warp_columns, ni, mi, n_1, m
  bind rows @block.y
  bind columns @block.x
  bind warp_rows @thread.z
  bind warp_columns @thread.y
  fission m acc @reg -> m_1
  fission n_1 acc @reg -> n_1_1
  fission mi acc @reg -> mi_1
  fission ni acc @reg -> ni_1
  reorder slice, k, m, n_1, mi, ni, ki
  reorder m_1, n_1_1, mi_1, ni_1
  lanes -> lane
  reindex warp_rows, m, mi, k, ki 3 x0 at slice @shared -> left
  reindex warp_columns, n_1, ni, k, ki 3 x1 at slice @shared -> right
  prefetch left, right at slice
  tensorize mi, ni, ki mma.m16n8k16.f16 -> lane, fa, fb
  load_matrix fa at m
  load_matrix fb at n_1
  bind k @unroll
  bind m @unroll
  bind n_1 @unroll
  bind m_1 @unroll
  bind n_1_1 @unroll
}
