# Rows that a tile uses whole lie one behind the other: their lines are counted through all of them.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel rows(X: f32[40,3,5], Y: out f32[40,3,5]) {
  for i in 40, j in 3, k in 5
    Y[i, j, k] = X[i, j, k]
}
schedule {
  split i 16 -> io, ii
  fetch io X 1 at io
}
-- out
kernel rows(X: f32[40,3,5], Y: out f32[40,3,5]) {
  for io in 3 {
    for X_line_0 in 15
      fetch.near(X[io*16+16, 0, X_line_0*16])
    for ii in min(16, 40-io*16), j in 3, k in 5
      Y[ii+io*16, j, k] = X[ii+io*16, j, k]
  }
}
