# A loop that is one vector must fit into it.
-- args
print --ir=loops
-- in
kernel k(N, X: f32[N], Y: out f32[N]) {
  for i in N @vector(i32x8)
    Y[i] = X[i]
}
-- err
-:2: kernel k: @vector loop i may run more often than it has lanes
