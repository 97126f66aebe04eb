# Convolutions of f16 and products of bytes by tensor cores: slices are copied by rows or columns and
# terms; a short last slice has zeros.
-- args
print -O3 --disable DeriveExpressions,SplitReduction --target=cuda:sm_90 --schedule
-- in
graph g(%x: f16[2,31,14,14], %w: f16[64,31,3,3], %a: u8[64,128], %b: i8[128,96]) -> %y, %z {
  %y = Conv(%x, %w) {pads = [1, 1, 1, 1]} "conv"
  %z = MatMulInteger(%a, %b) "bytes"
}
-- out
kernel k0_conv(x: f16[2,31,14,14], w: f16[64,31,3,3], conv: out f16[2,64,14,14]) "conv" {
  for n in 2, f in 64, p in 14, q in 14 {
    acc: f32 @reg = 0
    for c in 31, r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 14 && 0 <= q+s-1 && q+s-1 < 14)
        acc[] += f32(x[n, c, p+r-1, q+s-1]) * f32(w[f, c, r, s])
    conv[n, f, p, q] = f16(acc[])
  }
}
schedule {
  reorder f, n, p, q
  fuse n, p -> i
  fuse i, q -> i_1
  split_whole f 32 -> rows, inner
  split inner 16 -> warp_rows, inner_1
  split inner_1 16 -> m, mi
  split_whole i_1 32 -> columns, inner_2
  split inner_2 16 -> warp_columns, inner_3
  split inner_3 8 -> n_1, ni
  fuse c, r -> i_2
  fuse i_2, s -> i_3
  split_whole i_3 32 -> slice, inner_4
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
  reindex warp_rows, m, mi, k, ki 3 w at slice @shared -> left
  reindex k, ki, warp_columns, n_1, ni 2 x at slice @shared -> right
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
kernel k1_bytes(a: u8[64,128], b: i8[128,96], product: out i32[64,96]) "bytes" {
  for m in 64, n in 96 {
    acc: i32 @reg = 0
    for k in 128
      acc[] += i32(a[m, k]) * i32(b[k, n])
    product[m, n] = acc[]
  }
}
schedule {
  reorder m, n
  split_whole m 32 -> rows, inner
  split inner 16 -> warp_rows, inner_1
  split inner_1 16 -> m_1, mi
  split_whole n 32 -> columns, inner_2
  split inner_2 16 -> warp_columns, inner_3
  split inner_3 8 -> n_1, ni
  split_whole k 128 -> slice, inner_4
  split inner_4 32 -> k_1, ki
  reorder rows, columns, warp_rows, warp_columns, ni, mi, n_1, m_1
  bind rows @block.y
  bind columns @block.x
  bind warp_rows @thread.z
  bind warp_columns @thread.y
  fission m_1 acc @reg -> m_1_1
  fission n_1 acc @reg -> n_1_1
  fission mi acc @reg -> mi_1
  fission ni acc @reg -> ni_1
  reorder slice, k_1, m_1, n_1, mi, ni, ki
  reorder m_1_1, n_1_1, mi_1, ni_1
  lanes -> lane
  reindex warp_rows, m_1, mi, k_1, ki 3 a at slice @shared -> left
  reindex k_1, ki, warp_columns, n_1, ni 2 b at slice @shared -> right
  prefetch left, right at slice
  tensorize mi, ni, ki mma.m16n8k32.u8.s8 -> lane, fa, fb
  load_matrix fa at m_1
  load_matrix fb at n_1
  bind k_1 @unroll
  bind m_1 @unroll
  bind n_1 @unroll
  bind m_1_1 @unroll
  bind n_1_1 @unroll
}
