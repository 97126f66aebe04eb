# small inner loop, SMALL=4: nothing hoisted out of it; outer loop still served
-- args
print --ir=loops --passes=Normalize,LICM --config LICM.small=4 --verify=each
-- in
kernel g14(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 16 {
    for i in 4 {
      O[j * 4 + i] = A[j * 4 + i] * B[n * 2 + i]
    }
  }
}
-- out
kernel g14(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  let h0 = n*2
  for j in 16, i in 4
    O[j*4+i] = A[j*4+i] * B[h0+i]
}
