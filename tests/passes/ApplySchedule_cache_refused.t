# Only what is stored all over may be stored back from a local.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel spread(X: f32[20], Y: out f32[20]) {
  for i in 2, j in 5
    Y[10*i + 2*j] = X[j]
}
schedule {
  cache_write Y at i @stack -> Yc
}
-- err
-:6: kernel spread: cache_write i: it is not certain that all of a box of Y is stored there
