# A table that others read too: transposed at each run in a file, once in a bundle.
-- args
print --passes=FoldConstant --config FoldConstant.limit=100
-- in
graph g(%i: i64[N], %x: f32[N,4]) -> %e, %y {
  %w: f32[16,4] = weight 0
  %e = Gather(%w, %i)    "embedding"
  %t = Transpose(%w)     "turned"
  %y = MatMul(%x, %t)    "head"
}
-- out
graph g(%i: i64[N], %x: f32[N,4]) -> %e, %y {
  %w: f32[16,4] = weight 0
  %e: f32[N,4]  = Gather(%w, %i)  "embedding"
  %t: f32[4,16] = Transpose(%w)  "turned"
  %y: f32[N,16] = MatMul(%x, %t)  "head"
}
