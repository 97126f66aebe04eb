# adjacent ifs, condition clobbered: must NOT merge
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g11b(n, P: out i64[4000], C: out f32[4000], B: f32[4000]) flat {
  for i in 8 {
    if (P[0] < n) {
      P[0] = P[0] + 1
    }
    if (P[0] < n) {
      C[i] = B[i]
    }
  }
}
-- out
kernel g11b(n, P: out i64[4000], C: out f32[4000], B: f32[4000]) flat {
  for i in 8 {
    if (P[0] < n)
      P[0] = P[0]+1
    if (P[0] < n)
      C[i] = B[i]
  }
}
