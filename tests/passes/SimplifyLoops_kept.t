# A condition that nothing around it decides stays, and so does a sum in floats.
-- args
print --ir=loops --passes=SimplifyLoops
-- in
kernel k(N, X: f32[N,56], Y: out f32[N,56]) {
  for n in N, i in 56
    if (i < N)
      Y[n, i] = X[n, i] + 1.0 - 1.0
}
-- out
kernel k(N, X: f32[N,56], Y: out f32[N,56]) {
  for n in N, i in 56
    if (i < N)
      Y[n, i] = X[n, i] + 1 - 1
}
