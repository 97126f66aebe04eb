# For a machine what a result is made of may stay; what is larger than that has the limit.
-- args
print --passes=FoldConstant,DeadCodeElimination,WidenHalves --config FoldConstant.limit=100 --target=cpu:x86-64-v4
-- in
graph g(%i: i64[N], %x: f32[N,4]) -> %e, %y, %z {
  %w: f32[16,4] = weight 0
  %s: i64[3] = {2, 16, 4}
  %e = Gather(%w, %i)    "embedding"
  %t = Transpose(%w)     "turned"
  %y = MatMul(%x, %t)    "head"
  %z = Expand(%w, %s)    "twice"
}
-- out
graph g(%i: i64[N], %x: f32[N,4]) -> %e, %y, %z {
  %w: f32[16,4]   = weight 0
  %s: i64[3]      = {2, 16, 4}
  %t_1: f32[4,16] = weight 2
  %e: f32[N,4]    = Gather(%w, %i)  "embedding"
  %y: f32[N,16]   = MatMul(%x, %t_1)  "head"
  %z: f32[2,16,4] = Expand(%w, %s)  "twice"
}
