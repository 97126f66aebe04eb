# guarded load moves only together with its guard
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g13c(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = (j < n ? A[j] : 0.0) * B[i]
    }
  }
}
-- out
kernel g13c(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    let h0 = j*8
    let h1 = j < n ? A[j] : 0
    for i in 8
      O[h0+i] = h1 * B[i]
  }
}
