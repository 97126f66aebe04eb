# Behind hints nothing changes the places that they name.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel rows(X: f32[20,600], Y: out f32[20,600]) {
  for i in 20, j in 600
    Y[i, j] = X[i, j]
}
schedule {
  fetch i X 1 at i
  cache_read X at i @stack -> c
}
-- err
-:7: kernel rows: cache_read i: lines are fetched already; it comes before that
