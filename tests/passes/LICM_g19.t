# depth_to_space (div/mod of block, DCR)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g19(O: out f32[4000], D: f32[4000]) flat {
  for c in 2 {
    for y in 8 {
      for x in 8 {
        O[c * 64 + y * 8 + x] = D[((y % 2 * 2 + x % 2) * 2 + c) * 16 + y / 2 * 4 + x / 2]
      }
    }
  }
}
-- out
kernel g19(O: out f32[4000], D: f32[4000]) flat {
  for c in 2 {
    let h0 = c*64
    let h2 = c*16
    for y in 8 {
      let h1 = h0+y*8
      let h3 = h2+(y%2*64+y/2*4)
      for x in 8
        O[h1+x] = D[h3+(x%2*32+x/2)]
    }
  }
}
