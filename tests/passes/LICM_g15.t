# div/mod by run-time value: hoisted only because it is unconditional in a const-trip loop
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g15(s, O: out f32[4000], A: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = A[j / s * 8 + j % s + i]
    }
  }
}
-- out
kernel g15(s, O: out f32[4000], A: f32[4000]) flat {
  for j in 8 {
    let h0 = j*8
    let h1 = j%s+j/s*8
    for i in 8
      O[h0+i] = A[h1+i]
  }
}
