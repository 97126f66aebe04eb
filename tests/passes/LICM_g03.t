# vector add split 4x32
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g03(C: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for io in 4 {
    for ii in 32 {
      C[io * 32 + ii] = A[io * 32 + ii] + B[io * 32 + ii]
    }
  }
}
-- out
kernel g03(C: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for io in 4 {
    let h0 = io*32
    for ii in 32
      C[h0+ii] = A[h0+ii] + B[h0+ii]
  }
}
