# Indices are data, checked where they are used.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[1000,64], %i: i64[N]) -> %y {
  %y = Gather(%x, %i) "gather"
}
-- out
kernel k0_gather(N, indices: i64[N], data: f32[1000,64], y: out f32[N,64]) "gather" {
  for i0 in N, i1 in 64
    y[i0, i1] = data[at(indices[i0], 0..1000, wrap, check), i1]
}
schedule {
  fuse i0, i1 -> i
  split_whole i 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
}
