# let bound to a varying value is marked; invariant let moves out
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g20(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      let a = j * 8 + 3 * n
      let b = a + i * 2
      O[b] = A[b] + B[a]
    }
  }
}
-- out
kernel g20(n, O: out f32[4000], A: f32[4000], B: f32[4000]) flat {
  let h0 = n*3
  for j in 8 {
    let h1 = h0+j*8
    let h2 = B[h1]
    for i in 8 {
      let b = h1+i*2
      O[b] = A[b] + h2
    }
  }
}
