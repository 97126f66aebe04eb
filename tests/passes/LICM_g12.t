# float sum must NOT be reassociated, integer index may
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g12(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = A[i] + B[j] + A[i] + B[0]
    }
  }
}
-- out
kernel g12(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  let h2 = B[0]
  for j in 8 {
    let h0 = j*8
    let h1 = B[j]
    for i in 8
      O[h0+i] = A[i] + h1 + A[i] + h2
  }
}
