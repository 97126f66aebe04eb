# What reports an index outside stays in front of the condition behind it: it is asked in each
# iteration, whether the condition holds or not.
-- args
print --ir=loops --passes=HoistBranches --verify=each
-- in
kernel asked(n, I: i64[8], X: f32[8], Y: out f32[8]) flat {
  for i in 8 {
    let k = at(I[i], 0..8, check)
    if (n > 3)
      Y[i] = X[k]
  }
}
-- out
kernel asked(n, I: i64[8], X: f32[8], Y: out f32[8]) flat {
  for i in 8 {
    let k = at(I[i], 0..8, check)
    if (n > 3)
      Y[i] = X[k]
  }
}
