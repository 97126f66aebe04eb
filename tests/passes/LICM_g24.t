# conv3d_transpose condition order, only z,y,x loops (joined predicate nests level by level)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g24(p, O: out f32[4000], D: f32[4000]) flat {
  for rz in 3 {
    for ry in 3 {
      for rx in 3 {
        O[rz * 9 + ry * 3 + rx] = (rx + p >= 1 && rx + p < 8 && (rx + p - 1) % 2 == 0 && ry + p >= 1 && ry + p < 8 && (ry + p - 1) % 2 == 0 && rz + p >= 1 && rz + p < 8 && (rz + p - 1) % 2 == 0 ? D[((rz + p - 1) / 2 * 4 + (ry + p - 1) / 2) * 4 + (rx + p - 1) / 2] : 0.0)
      }
    }
  }
}
-- out
kernel g24(p, O: out f32[4000], D: f32[4000]) flat {
  for rz in 3 {
    let h0 = rz*9
    let h2 = p+rz >= 1 && p+rz < 8 && (p+rz-1)%2 == 0
    let h4 = (p+rz-1)/2*16
    for ry in 3 {
      let h1 = h0+ry*3
      let h3 = h2 && (p+ry >= 1 && p+ry < 8 && (p+ry-1)%2 == 0)
      let h5 = h4+(p+ry-1)/2*4
      for rx in 3
        O[h1+rx] = h3 && (p+rx >= 1 && p+rx < 8 && (p+rx-1)%2 == 0) ? D[h5+(p+rx-1)/2] : 0
    }
  }
}
