# Loops bound to blocks and threads, shared memory, and operations of threads read back as they print.
-- args
print --ir=loops --target=cuda:a100
-- in
kernel k(N in 1..4096, A: f16[N,64,64], B: f16[64,16], Y: out f32[N,16,16]) {
  for n in N @block.x {
    a: f16[2,16,16] @shared
    b: f16[16,16] @shared
    for w in 2 @thread.y for t in 32 @thread.x {
      fa: f16[8] @reg
      fb: f16[4] @reg
      acc: f32[4] @reg = 0
      m: f32 @reg = 0
      if (w == 0)
        a[0, t / 2, t % 2 * 8] = cp.async(A[n, t / 2, t % 2 * 8], 16)
      cp.async.commit()
      cp.async.wait(0)
      for i in 4 { b[i*4 + w*2 + t/16, t % 16] = B[i*4 + w*2 + t/16, t % 16] }
      sync
      fa[0] = ldmatrix.x4(a[0, t % 16, t / 16 * 8])
      fb[0] = ldmatrix.x2.trans(b[t % 16, w * 8])
      acc[0] += mma.m16n8k16.f16(fa[0], fb[0])
      m = shfl.xor(acc[0], 16)
      m max= shfl.down(acc[0] + 1, 1)
      for i in 4 { Y[n, t/4 + i/2*8, w*8 + t%4*2 + i%2] = acc[i] + m }
    }
  }
}
-- out
kernel k(N in 1..4096, A: f16[N,64,64], B: f16[64,16], Y: out f32[N,16,16]) {
  for n in N @block.x {
    a: f16[2,16,16] @shared
    b: f16[16,16] @shared
    for w in 2 @thread.y
      for t in 32 @thread.x {
        fa: f16[8] @reg
        fb: f16[4] @reg
        acc: f32[4] @reg = 0
        m: f32 @reg = 0
        if (w == 0)
          a[0, t/2, t%2*8] = cp.async(A[n, t/2, t%2*8], 16)
        cp.async.commit()
        cp.async.wait(0)
        for i in 4
          b[i*4+w*2+t/16, t%16] = B[i*4+w*2+t/16, t%16]
        sync
        fa[0] = ldmatrix.x4(a[0, t%16, t/16*8])
        fb[0] = ldmatrix.x2.trans(b[t%16, w*8])
        acc[0] += mma.m16n8k16.f16(fa[0], fb[0])
        m[] = shfl.xor(acc[0], 16)
        m[] max= shfl.down(acc[0] + 1, 1)
        for i_1 in 4
          Y[n, t/4+i_1/2*8, w*8+t%4*2+i_1%2] = acc[i_1] + m[]
      }
  }
}
