# min/max clamp (replicate pad), integer only
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g17(O: out f32[4000], A: f32[4000]) flat {
  for y in 8 {
    for x in 8 {
      O[y * 8 + x] = A[max(min(max(min(y - 1, 7), 0) * 8 + 0 * x, 63), 0) + max(min(x - 1, 7), 0)]
    }
  }
}
-- out
kernel g17(O: out f32[4000], A: f32[4000]) flat {
  for y in 8 {
    let h0 = y*8
    let h1 = max(0, min(63, max(0, min(7, y-1))*8))
    for x in 8
      O[h0+x] = A[h1+max(0, min(7, x-1))]
  }
}
