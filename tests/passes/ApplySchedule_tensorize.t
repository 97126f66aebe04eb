# A nest of sums becomes a product of matrices in the registers of a warp, its factors by ldmatrix
# where they lie in shared memory.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel mm(A: f16[16,64], B: f16[64,16], Y: out f32[16,16]) {
  for m in 16, n in 16 {
    acc: f32 @reg = 0
    for k in 64
      acc[] += f32(A[m, k]) * f32(B[k, n])
    Y[m, n] = acc[]
  }
}
schedule {
  split n 8 -> wn, ni
  split k 16 -> ko, ki
  reorder wn, ni, m
  bind wn @thread.y
  fission m acc @reg -> m_1
  fission ni acc @reg -> ni_1
  reorder ko, m, ni, ki
  reorder m_1, ni_1
  tensorize m, ni, ki mma.m16n8k16.f16 -> lane, fa, fb
  cache_read A at ko @shared -> sa
  load_matrix fa at ko
}
-- out
kernel mm(A: f16[16,64], B: f16[64,16], Y: out f32[16,16]) {
  for wn in 2 @thread.y
    for lane in 32 @thread.x {
      sa: f16[16,24] @shared
      acc: f32[4] @reg = 0
      for ko in 4 {
        if (wn < 1)
          for sa_1 in 8 @vector
            sa[wn*16+lane/2, sa_1+lane%2*8] = A[wn*16+lane/2, ko*16+sa_1+lane%2*8]
        sync
        fa: f16[8] @reg
        fa[0] = ldmatrix.x4(sa[lane%16, lane/16*8])
        fb: f16[4] @reg
        for fb_0 in 4
          fb[fb_0] = B[ko*16+fb_0/2*8+fb_0%2+lane%4*2, wn*8+lane/4]
        acc[0] += mma.m16n8k16.f16(fa[0], fb[0])
        sync
      }
      for ni_1 in 4
        Y[lane/4+ni_1/2*8, wn*8+lane%4*2+ni_1%2] = acc[ni_1]
    }
}
