# || chain and negated collapse
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g18(O: out f32[4000], A: f32[4000]) flat {
  for j in 16 {
    for i in 16 {
      O[j * 16 + i] = (i < 2 ? 0.0 : (j < 2 ? 0.0 : (j >= 14 ? 0.0 : (i < 14 ? A[j * 16 + i] : 0.0))))
    }
  }
}
-- out
kernel g18(O: out f32[4000], A: f32[4000]) flat {
  for j in 16 {
    let h0 = j*16
    let h1 = j < 2 || j >= 14
    for i in 16
      O[h0+i] = h1 || (i < 2 || i >= 14) ? 0 : A[h0+i]
  }
}
