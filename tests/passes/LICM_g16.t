# div by run-time value under a guard: not speculated
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g16(s, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = (s > 0 ? A[j / s] : 0.0) + B[i]
    }
  }
}
-- out
kernel g16(s, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  let h1 = s > 0
  for j in 8 {
    let h0 = j*8
    let h2 = h1 ? A[j/s] : 0
    for i in 8
      O[h0+i] = h2 + B[i]
  }
}
