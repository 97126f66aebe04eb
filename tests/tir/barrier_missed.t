# A barrier that some threads of a block may not reach is refused, with its line.
-- args
print --ir=loops
-- in
kernel k(X: f32[64], Y: out f32[64]) {
  for t in 64 @thread.x {
    s: f32[64] @shared
    s[t] = X[t]
    let half = 64 - t
    if (t < half)
      sync
    Y[t] = s[63-t]
  }
}
-- err
-:7: kernel k: what decides whether a barrier is reached may differ along @thread.x
-- exit
3
