# Few rows: no copy of the second factor pays. Tiles of four rows and four vectors read it where it
# lies, and bring the next one's columns.
-- args
print --schedule -O3 --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[4,16,512], %w: f32[4,512,512]) -> %y {
  %y = MatMul(%x, %w)
}
-- out
kernel k0_MatMul(a: f32[4,16,512], b: f32[4,512,512], product: out f32[4,16,512]) "MatMul" {
  for i0 in 4, m in 16, n in 512 {
    acc: f32 @reg = 0
    for k in 512
      acc[] += a[i0, m, k] * b[i0, k, n]
    product[i0, m, n] = acc[]
  }
}
schedule {
  split m 4 -> mt, u
  split mt 4 -> mo, mi
  split n 64 -> nt, nv
  split nv 16 -> w, v
  split nt 4 -> no, ni
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
  fetch ni b 1 at ni
}
