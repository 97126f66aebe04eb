# loop partition of a guarded tail (its own pass)
-- args
print --ir=loops --passes=SplitBorders,PartitionLoops,Normalize,HoistBranches,LICM --verify=each
-- in
kernel g27(C: out f32[4000], A: f32[4000]) flat {
  for io in 4 {
    for ii in 32 {
      if (io * 32 + ii < 100) {
        C[io * 32 + ii] = A[io * 32 + ii]
      }
    }
  }
}
-- out
kernel g27(C: out f32[4000], A: f32[4000]) flat {
  for io in 3 {
    let h0 = io*32
    for ii in 32
      C[h0+ii] = A[h0+ii]
  }
  for ii_1 in 4
    C[ii_1+96] = A[ii_1+96]
}
