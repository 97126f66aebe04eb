# paper (1)->(2): && regrouping
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g01(O: out f32[4000], A: f32[4000]) flat {
  for j in 60 {
    for i in 60 {
      O[j * 60 + i] = 3 < j && i < 56 && 3 < i && j < 56 ? A[j * 60 + i] : 0.0
    }
  }
}
-- out
kernel g01(O: out f32[4000], A: f32[4000]) flat {
  for j in 60 {
    let h0 = j*60
    let h1 = 3 < j && j < 56
    for i in 60
      O[h0+i] = h1 && (i < 56 && 3 < i) ? A[h0+i] : 0
  }
}
