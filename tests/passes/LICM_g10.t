# invariant branch, no else (TVM HoistIfThenElse example)
-- args
print --ir=loops --passes=Normalize,HoistBranches,LICM --verify=each
-- in
kernel g10(A: out f32[4000], B: f32[4000]) flat {
  for i in 3 {
    for j in 4 {
      for k in 5 {
        if (i * 2 < 4) {
          A[3 * i + 2 * j + k] = B[7 * i + 3 * j + k]
        }
      }
    }
  }
}
-- out
kernel g10(A: out f32[4000], B: f32[4000]) flat {
  for i in 3
    if (i*2 < 4) {
      let h0 = i*3
      let h2 = i*7
      for j in 4 {
        let h1 = h0+j*2
        let h3 = h2+j*3
        for k in 5
          A[h1+k] = B[h3+k]
      }
    }
}
