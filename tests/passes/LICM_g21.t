# thread-bound loops: nothing is placed between bindings; serial loop gets the lets
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g21(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for bx in 4 @block.x {
    for tx in 8 @thread.x {
      for k in 4 {
        O[bx * 32 + tx * 4 + k] = A[bx * 32 + k * 8 + tx] * B[tx]
      }
    }
  }
}
-- out
kernel g21(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for bx in 4 @block.x
    for tx in 8 @thread.x {
      let h0 = bx*32+tx*4
      let h1 = bx*32+tx
      let h2 = B[tx]
      for k in 4
        O[h0+k] = A[h1+k*8] * h2
    }
}
