# Of a scatter, the loops that own what they store to are threads; the others count in order.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[50,300], %i: i64[20,300], %u: f32[20,300]) -> %y {
  %y = ScatterElements(%x, %i, %u) {reduction="add"} "scatter"
}
-- out
kernel k0_scatter(updates: f32[20,300], indices: i64[20,300], data: f32[50,300], y: out f32[50,300]) "scatter" {
  for i1 in 300, i0 in 20
    y[at(indices[i0, i1], 0..50, wrap, check), i1] += updates[i0, i1]
}
schedule {
  split_whole i1 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
}
