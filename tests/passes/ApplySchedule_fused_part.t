# Where one of the parts is missing, iterations that differ in it alone do meet.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel k(X: f32[5,6,7], Y: out f32[6,7]) {
  for i in 5, j in 6, k in 7
    Y[j, k] = X[i, j, k]
}
schedule {
  fuse i, j -> p
  fuse p, k -> q
  bind q @block.x
}
-- err
-:8: kernel k: bind q: iterations may store to one place of Y
