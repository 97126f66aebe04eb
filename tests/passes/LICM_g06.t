# conv2d 3x3 with zero padding (select 0)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g06(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for f in 2 {
    for y in 8 {
      for x in 8 {
        O[f * 64 + y * 8 + x] = 0.0
        for c in 2 {
          for ry in 3 {
            for rx in 3 {
              O[f * 64 + y * 8 + x] = O[f * 64 + y * 8 + x] + (1 <= x + rx && x + rx < 9 && 1 <= y + ry && y + ry < 9 ? D[c * 64 + (y + ry - 1) * 8 + x + rx - 1] : 0.0) * Wt[f * 18 + c * 9 + ry * 3 + rx]
            }
          }
        }
      }
    }
  }
}
-- out
kernel g06(O: out f32[4000], D: f32[4000], Wt: f32[4000]) flat {
  for f in 2 {
    let h0 = f*64
    let h8 = f*18
    for y in 8 {
      let h1 = h0+y*8
      let h4 = y*8
      for x in 8 {
        O[h1+x] = 0
        let h2 = h1+x
        let h5 = h4+x
        for c in 2 {
          let h6 = h5+c*64
          let h9 = h8+c*9
          for ry in 3 {
            let h3 = 1 <= y+ry && y+ry < 9
            let h7 = h6+ry*8
            let h10 = h9+ry*3
            for rx in 3
              O[h2] = O[h2] + (h3 && (1 <= x+rx && x+rx < 9) ? D[h7+rx-9] : 0) * Wt[h10+rx]
          }
        }
      }
    }
  }
}
