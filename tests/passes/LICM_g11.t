# adjacent ifs with equal conditions (ifconcat)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g11(n, A: out f32[4000], B: f32[4000], C: out f32[4000]) flat {
  for i in 8 {
    if (i < n) {
      A[i] = B[i]
    }
    if (i < n) {
      C[i] = B[i] + 1.0
    }
  }
}
-- out
kernel g11(n, A: out f32[4000], B: f32[4000], C: out f32[4000]) flat {
  for i in 8
    if (i < n) {
      A[i] = B[i]
      C[i] = B[i] + 1
    }
}
