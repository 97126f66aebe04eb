# All operands stay where they are, to compare with.
-- args
print --ir=loops --passes=Normalize --config Normalize.orders=nothing --verify=each
-- in
kernel k(A: f32[4096], O: out f32[4096]) flat {
  for j in 60 {
    for i in 60 {
      O[i + j*60] = (i < 56 && 3 < j ? A[i + j*60] : 0.0)
    }
  }
}
-- out
kernel k(A: f32[4096], O: out f32[4096]) flat {
  for j in 60, i in 60
    O[i+j*60] = i < 56 && 3 < j ? A[i+j*60] : 0
}
