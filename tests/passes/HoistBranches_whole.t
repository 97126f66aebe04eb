# A condition of which only a part leaves stays whole, to compare with.
-- args
print --ir=loops --passes=Normalize,HoistBranches --config HoistBranches.whole=1 --verify=each
-- in
kernel k(A: f32[64], O: out f32[4096]) flat {
  for j in 60 {
    for i in 60 {
      if (3 < j && i < 9)
        O[j*60 + i] = A[j]
    }
    for i in 60 {
      if (j < 7)
        O[j*60 + i] = A[i]
    }
  }
}
-- out
kernel k(A: f32[64], O: out f32[4096]) flat {
  for j in 60 {
    for i in 60
      if (3 < j && i < 9)
        O[j*60+i] = A[j]
    if (j < 7)
      for i_1 in 60
        O[j*60+i_1] = A[i_1]
  }
}
