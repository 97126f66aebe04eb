# f16 by tensor cores: slices are on their way while one is used; other loops are blocks.
-- args
print -O3 --disable DeriveExpressions --target=cuda:sm_90 --schedule
-- in
graph g(%a: f16[N,100,768], %b: f16[768,500], %c: f16[500], %p: bf16[N,96,64], %q: bf16[N,64,99]) -> %y, %z {
  %m = MatMul(%a, %b) "mm"
  %n = Add(%m, %c) "add"
  %y = Relu(%n) "relu"
  %z = MatMul(%p, %q) "odd rows"
}
-- out
kernel k0_relu(N, va: f16[N*100,768], vb: f16[768,500], vc: f16[500], y: out f16[N*100,500]) "mm + add + relu" {
  for i0 in N*100, i2 in 500 {
    product: f16 @reg
    acc: f32 @reg = 0
    for k in 768
      acc[] += f32(va[i0, k]) * f32(vb[k, i2])
    product[] = f16(acc[])
    y[i0, i2] = max(product[] + vc[i2], 0)
  }
}
schedule {
  split_whole i0 32 -> rows, inner
  split inner 16 -> warp_rows, inner_1
  split inner_1 16 -> m, mi
  split_whole i2 32 -> columns, inner_2
  split inner_2 16 -> warp_columns, inner_3
  split inner_3 8 -> n, ni
  split k 64 -> slice, inner_4
  split inner_4 16 -> k_1, ki
  reorder rows, columns, warp_rows, warp_columns, ni, mi, n, m
  bind rows @block.x
  bind columns @block.y
  bind warp_rows @thread.z
  bind warp_columns @thread.y
  fission m acc @reg -> m_1
  fission n acc @reg -> n_1
  fission mi acc @reg -> mi_1
  fission ni acc @reg -> ni_1
  reorder slice, k_1, m, n, mi, ni, ki
  reorder m_1, n_1, mi_1, ni_1
  tensorize mi, ni, ki mma.m16n8k16.f16 -> lane, fa, fb
  cache_read va at slice @shared -> left
  cache_read vb at slice @shared -> right
  load_matrix fa at m
  load_matrix fb at n
  prefetch left, right at slice
  bind k_1 @unroll
  bind m @unroll
  bind n @unroll
  bind m_1 @unroll
  bind n_1 @unroll
}
kernel k1_odd_rows(N, a: bf16[N,96,64], b: bf16[N,64,99], product: out bf16[N,96,99]) "odd rows" {
  for i0 in N, m in 96, n in 99 {
    acc: f32 @reg = 0
    for k in 64
      acc[] += f32(a[i0, m, k]) * f32(b[i0, k, n])
    product[i0, m, n] = bf16(acc[])
  }
}
schedule {
  split_whole m 32 -> rows, inner
  split inner 16 -> warp_rows, inner_1
  split inner_1 16 -> m_1, mi
  split_whole n 32 -> columns, inner_2
  split inner_2 16 -> warp_columns, inner_3
  split inner_3 8 -> n_1, ni
  split k 64 -> slice, inner_4
  split inner_4 16 -> k_1, ki
  reorder i0, rows, columns, warp_rows, warp_columns, ni, mi, n_1, m_1
  bind i0 @block.x
  bind rows @block.y
  bind columns @block.z
  bind warp_rows @thread.z
  bind warp_columns @thread.y
  fission m_1 acc @reg -> m_1_1
  fission n_1 acc @reg -> n_1_1
  fission mi acc @reg -> mi_1
  fission ni acc @reg -> ni_1
  reorder slice, k_1, m_1, n_1, mi, ni, ki
  reorder m_1_1, n_1_1, mi_1, ni_1
  tensorize mi, ni, ki mma.m16n8k16.bf16 -> lane, fa, fb
  cache_read a at slice @shared -> left
  cache_read b at slice @shared -> right
  load_matrix fa at m_1
  load_matrix fb at n_1
  bind k_1 @unroll
  bind m_1 @unroll
  bind n_1 @unroll
  bind m_1_1 @unroll
  bind n_1_1 @unroll
}
