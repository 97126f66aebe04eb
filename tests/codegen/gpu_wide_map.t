# A thread has the neighbours of 16 bytes: four f32 here, of rows that two inputs are put together
# from, with what stands still along them beside it. Each arm is loaded under its condition alone.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[8,64,28,28], %z: f32[8,32,28,28], %b: f32[96,1,1]) -> %y {
  %c = Concat(%x, %z) {axis=1} "both"
  %y = Add(%c, %b) "bias"
}
-- out
kernel k0_bias(vx: f32[8,64,784], vz: f32[8,32,784], vb: f32[96], y: out f32[8,96,784]) "both + bias" {
  for i0 in 8, i1 in 96, i2 in 784
    y[i0, i1, i2] = (i1 < 64 ? vx[i0, i1, i2] : vz[i0, i1-64, i2]) + vb[i1]
}
schedule {
  fuse i0, i1 -> i
  fuse i, i2 -> i_1
  split i_1 4 -> piece, v
  split_whole piece 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
  bind v @vector
}
