# Iterations that meet do not run at once: 2*i + 2 is 2*(i+1).
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel overlap(X: f32[10], Y: out f32[11]) {
  for i in 5, j in 3
    Y[2*i + j] = X[2*i]
}
schedule {
  bind j @vector
  bind i @parallel
}
-- err
-:7: kernel overlap: bind i: iterations may store to one place of Y
