# winograd F(2,3) input tile load with padding (4x4 tile, P tiles)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g09(V: out f32[4000], D: f32[4000]) flat {
  for c in 2 {
    for pp in 9 {
      for eps in 4 {
        for nu in 4 {
          V[((eps * 4 + nu) * 2 + c) * 9 + pp] = pp / 3 * 2 + eps >= 1 && pp / 3 * 2 + eps < 7 && pp % 3 * 2 + nu >= 1 && pp % 3 * 2 + nu < 7 ? D[c * 36 + (pp / 3 * 2 + eps - 1) * 6 + (pp % 3 * 2 + nu - 1)] : 0.0
        }
      }
    }
  }
}
-- out
kernel g09(V: out f32[4000], D: f32[4000]) flat {
  for c in 2 {
    let h0 = c*9
    let h6 = c*36
    for pp in 9 {
      let h1 = h0+pp
      let h3 = pp/3*2
      let h5 = pp%3*2
      let h7 = h6+(h5+pp/3*12)
      for eps in 4 {
        let h2 = h1+eps*72
        let h4 = h3+eps >= 1 && h3+eps < 7
        let h8 = h7+eps*6
        for nu in 4
          V[h2+nu*18] = h4 && (h5+nu >= 1 && h5+nu < 7) ? D[h8+nu-7] : 0
      }
    }
  }
}
