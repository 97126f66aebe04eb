# shared buffer and sync: the load stays inside the loop that contains the sync
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g22(A: f32[4000], O: out f32[4000], B: f32[4000]) flat {
  for bx in 1 @block.x {
    S: f32[8] @shared
    for tx in 8 @thread.x {
      for k in 4 {
        S[tx] = A[k * 8 + tx]
        sync
        O[k * 8 + tx] = S[7 - tx] + B[tx]
        sync
      }
    }
  }
}
-- out
kernel g22(A: f32[4000], O: out f32[4000], B: f32[4000]) flat {
  for bx in 1 @block.x {
    S: f32[8] @shared
    for tx in 8 @thread.x {
      let h0 = 7-tx
      let h1 = B[tx]
      for k in 4 {
        S[tx] = A[tx+k*8]
        sync
        O[tx+k*8] = S[h0] + h1
        sync
      }
    }
  }
}
