# Loops become blocks and threads; threads copy together what all of them read, between barriers, and
# ahead of its use.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel mm(A: f32[64,64], B: f32[64,64], Y: out f32[64,64]) {
  for m in 64, n in 64 {
    acc: f32 @reg = 0
    for k in 64
      acc[] += A[m, k] * B[k, n]
    Y[m, n] = acc[]
  }
}
schedule {
  split m 16 -> bm, tm
  split n 16 -> bn, tn
  split k 32 -> ko, ki
  reorder bm, bn, tm, tn
  bind bm @block.y
  bind bn @block.x
  bind tm @thread.y
  bind tn @thread.x
  cache_read A at ko @shared -> sa
  cache_read B at tn @shared -> sb
  prefetch sa at ko
}
-- out
kernel mm(A: f32[64,64], B: f32[64,64], Y: out f32[64,64]) {
  for bm in 4 @block.y
    for bn in 4 @block.x
      for tm in 16 @thread.y
        for tn in 16 @thread.x {
          sb: f32[64,20] @shared
          for sb_1 in 4 @vector
            sb[tm*4+tn/4, sb_1+tn%4*4] = B[tm*4+tn/4, bn*16+sb_1+tn%4*4]
          sync
          sa: f32[2,16,36] @shared
          acc: f32 @reg = 0
          if (tm < 8)
            sa[0, tm*2+tn/8, tn%8*4] = cp.async(A[bm*16+tm*2+tn/8, tn%8*4], 16)
          cp.async.commit()
          for ko in 2 {
            if (ko+1 < 2)
              if (tm < 8)
                sa[ko+1, tm*2+tn/8, tn%8*4] = cp.async(A[bm*16+tm*2+tn/8, ko*32+tn%8*4+32], 16)
            cp.async.commit()
            cp.async.wait(1)
            sync
            for ki in 32
              acc[] += sa[ko, tm, ki] * sb[ki+ko*32, tn]
            sync
          }
          Y[bm*16+tm, bn*16+tn] = acc[]
        }
}
