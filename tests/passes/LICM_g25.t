# integer min/max reassociate by rank; the float max (relu) is untouched
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g25(n, O: out f32[4000], A: f32[4000]) flat {
  for y in 8 {
    for x in 8 {
      O[y * 8 + x] = max(A[min(min(x + y, n), y + 3)], 0.0)
    }
  }
}
-- out
kernel g25(n, O: out f32[4000], A: f32[4000]) flat {
  for y in 8 {
    let h0 = y*8
    let h1 = min(n, y+3)
    for x in 8
      O[h0+x] = max(A[min(h1, y+x)], 0)
  }
}
