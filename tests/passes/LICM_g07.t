# conv2d_transpose s=2 (topi.cuda condition order), select form
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g07(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for oy in 7 {
    for ox in 7 {
      O[oy * 7 + ox] = 0.0
      for c in 2 {
        for ry in 3 {
          for rx in 3 {
            O[oy * 7 + ox] = O[oy * 7 + ox] + (ox + rx >= 1 && ox + rx < 8 && (ox + rx - 1) % 2 == 0 && oy + ry >= 1 && oy + ry < 8 && (oy + ry - 1) % 2 == 0 ? D[c * 16 + (oy + ry - 1) / 2 * 4 + (ox + rx - 1) / 2] : 0.0) * Wt[c * 9 + (2 - ry) * 3 + (2 - rx)]
          }
        }
      }
    }
  }
}
-- out
kernel g07(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for oy in 7 {
    let h0 = oy*7
    for ox in 7 {
      O[h0+ox] = 0
      let h1 = h0+ox
      for c in 2 {
        let h3 = c*16
        let h5 = c*9
        for ry in 3 {
          let h2 = oy+ry >= 1 && oy+ry < 8 && (oy+ry-1)%2 == 0
          let h4 = h3+(oy+ry-1)/2*4
          let h6 = h5-ry*3
          for rx in 3
            O[h1] = O[h1] + (h2 && (ox+rx >= 1 && ox+rx < 8 && (ox+rx-1)%2 == 0) ? D[h4+(ox+rx-1)/2] : 0) * Wt[h6-rx+8]
        }
      }
    }
  }
}
