# run-time trip count: pure index moves, load does not (loop may run 0 times)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g23(n, m, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in n {
      O[j * 8 + i] = A[j * 500 + m] * B[i]
    }
  }
}
-- out
kernel g23(n, m, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    let h0 = j*8
    let h1 = m+j*500
    for i in n
      O[h0+i] = A[h1] * B[i]
  }
}
