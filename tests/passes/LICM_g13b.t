# load of a buffer written in the loop: stays
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g13b(O: out f32[4000], B: f32[4000]) flat {
  for j in 8 {
    for i in 8 {
      O[j * 8 + i] = O[j] * B[i]
    }
  }
}
-- out
kernel g13b(O: out f32[4000], B: f32[4000]) flat {
  for j in 8 {
    let h0 = j*8
    for i in 8
      O[h0+i] = O[j] * B[i]
  }
}
