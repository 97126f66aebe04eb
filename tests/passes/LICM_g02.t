# paper (3)->(4): nested selects, equal else value
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g02(O: out f32[4000], A: f32[4000]) flat {
  for j in 60 {
    for i in 60 {
      O[j * 60 + i] = (3 < j ? (3 < i ? (i < 56 ? (j < 56 ? A[j * 60 + i] : 0.0) : 0.0) : 0.0) : 0.0)
    }
  }
}
-- out
kernel g02(O: out f32[4000], A: f32[4000]) flat {
  for j in 60 {
    let h0 = j*60
    let h1 = 3 < j && j < 56
    for i in 60
      O[h0+i] = h1 && (3 < i && i < 56) ? A[h0+i] : 0
  }
}
