# conv2d_transpose, guarded-update form + branch hoisting
-- args
print --ir=loops --passes=Normalize,HoistBranches,LICM --verify=each
-- in
kernel g08(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for oy in 7 {
    for ox in 7 {
      O[oy * 7 + ox] = 0.0
      for c in 2 {
        for ry in 3 {
          for rx in 3 {
            if (ox + rx >= 1 && ox + rx < 8 && (ox + rx - 1) % 2 == 0 && oy + ry >= 1 && oy + ry < 8 && (oy + ry - 1) % 2 == 0) {
              O[oy * 7 + ox] = O[oy * 7 + ox] + D[c * 16 + (oy + ry - 1) / 2 * 4 + (ox + rx - 1) / 2] * Wt[c * 9 + (2 - ry) * 3 + (2 - rx)]
            }
          }
        }
      }
    }
  }
}
-- out
kernel g08(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for oy in 7 {
    let h0 = oy*7
    for ox in 7 {
      O[h0+ox] = 0
      let h1 = h0+ox
      for c in 2 {
        let h2 = c*16
        let h4 = c*9
        for ry in 3
          if (oy+ry >= 1 && oy+ry < 8 && (oy+ry-1)%2 == 0) {
            let h3 = h2+(oy+ry-1)/2*4
            let h5 = h4-ry*3
            for rx in 3
              if (ox+rx >= 1 && ox+rx < 8 && (ox+rx-1)%2 == 0)
                O[h1] = O[h1] + D[h3+(ox+rx-1)/2] * Wt[h5-rx+8]
          }
      }
    }
  }
}
