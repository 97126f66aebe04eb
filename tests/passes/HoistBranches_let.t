# What asks a let stays behind it, however seldom the let changes.
-- args
print --ir=loops --passes=HoistBranches --verify=each
-- in
kernel asked(n, X: f32[8], Y: out f32[8]) flat {
  for i in 8 {
    let b = n*3
    for j in 8
      if (b < 7)
        Y[j] += X[i]
  }
}
-- out
kernel asked(n, X: f32[8], Y: out f32[8]) flat {
  for i in 8 {
    let b = n*3
    if (b < 7)
      for j in 8
        Y[j] += X[i]
  }
}
