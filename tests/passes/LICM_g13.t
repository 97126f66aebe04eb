# load invariant: safe (unconditional, buffer not written) vs aliased store
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g13(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = A[j] * B[i]
    }
  }
}
-- out
kernel g13(O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    let h0 = j*8
    let h1 = A[j]
    for i in 8
      O[h0+i] = h1 * B[i]
  }
}
