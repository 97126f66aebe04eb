# affine-map un-fuse (its own pass, before Normalize+LICM)
-- args
print --ir=loops --passes=UnfuseLoops,Normalize,HoistBranches,LICM --verify=each
-- in
kernel g26(y, O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for k in 18 {
    O[0] = O[0] + (1 <= y + k % 9 / 3 && y + k % 9 / 3 < 9 ? D[k / 9 * 64 + (y + k % 9 / 3 - 1) * 8 + k % 3] : 0.0) * Wt[k]
  }
}
-- out
kernel g26(y, O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  let h1 = y*8
  for k in 2 {
    let h2 = h1+k*64
    let h4 = k*9
    for k_1 in 3 {
      let h0 = 1 <= y+k_1 && y+k_1 < 9
      let h3 = h2+k_1*8
      let h5 = h4+k_1*3
      for k_2 in 3
        O[0] = O[0] + (h0 ? D[h3+k_2-8] : 0) * Wt[h5+k_2]
    }
  }
}
