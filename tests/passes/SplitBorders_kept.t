# Outside lanes bounds may be anything that is known; a step other than 1 and a read stay guards.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel kept(N, X: f32[N], M: bool[N], Y: out f32[N]) {
  for p in N {
    acc: f32 @reg = 0
    for k in N
      if (k <= p && p < k + 3 && p < 9)
        acc[] += X[k]
    for r in 3
      if (0 <= p+2*r-2 && p+2*r-2 < N && M[p])
        acc[] += X[p+2*r-2]
    Y[p] = acc[]
  }
}
-- out
kernel kept(N, X: f32[N], M: bool[N], Y: out f32[N]) {
  for p in N {
    acc: f32 @reg = 0
    if (p < 9)
      for k in max(0, p-2)..p+1
        acc[] += X[k]
    for r in 3
      if (0 <= p+r*2-2 && p+r*2-2 < N && M[p])
        acc[] += X[p+r*2-2]
    Y[p] = acc[]
  }
}
