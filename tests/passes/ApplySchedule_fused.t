# Loops made of several take a number apart; iterations of the one loop meet nowhere, in whatever
# order its parts are indices.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel k(N, M, X: f32[N,M,7], Y: out f32[7,N,M]) {
  for i in N, j in M, k in 7
    Y[k, i, j] = X[i, j, k]
}
schedule {
  fuse i, j -> p
  fuse p, k -> q
  split_whole q 256 -> b, t
  bind b @block.x
  bind t @thread.x
}
-- out
kernel k(N, M, X: f32[N,M,7], Y: out f32[7,N,M]) {
  for b in (M*N*7+255)/256 @block.x
    for t in 256 @thread.x
      if (b*256+t < M*N*7)
        Y[(b*4+t)%7, (b*256+t)/7/M, (b*256+t)/7%M] = X[(b*256+t)/7/M, (b*256+t)/7%M, (b*256+t)%7]
}
