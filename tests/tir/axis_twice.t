# All loops that are bound to one axis have the same extent, which is the number of threads there.
-- args
print --ir=loops
-- in
kernel k(X: f32[64], Y: out f32[64]) {
  s: f32 @reg = 0
  for t in 64 @thread.x
    s = X[t]
  for u in 32 @thread.x
    Y[u] = s
}
-- err
-:5: kernel k: loops u and another one bind @thread.x, and differ in extent
-- exit
3
