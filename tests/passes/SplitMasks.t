# What is the same for all lanes is tested before; what holds at the first and the last lane holds
# between. A partial vector ends at its last iteration.
-- args
print --ir=loops --passes=SplitMasks
-- in
kernel window(N, X: f32[56*N], Y: out f32[56*N]) flat {
  for p in N, v in 3, s in 3
    for i in 16 @vector(i32x16)
      if (1 <= p && 0 <= i + v*16 + s - 1 && 2*i + s < N)
        Y[i + v*16 + p*56] += X[i + v*16 + s + p*56 - 57]
  for i in N%16 @vector(i32x16)
    if (i < N - 3) {
      let t = X[i]
      Y[i] = t
    }
}
-- out
kernel window(N, X: f32[N*56], Y: out f32[N*56]) flat {
  for p in N, v in 3, s in 3
    for i in 16 @vector(i32x16)
      if (1 <= p)
        if (0 <= 0+v*16+s-1 && 0+s < N && (0 <= 15+v*16+s-1 && 30+s < N)) {
          Y[i+v*16+p*56] += X[i+v*16+s+p*56-57]
        }
        else {
          if (0 <= i+v*16+s-1 && 2*i+s < N)
            Y[i+v*16+p*56] += X[i+v*16+s+p*56-57]
        }
  for i_1 in N%16 @vector(i32x16)
    if (0 < N-3 && N%16-1 < N-3) {
      let t = X[i_1]
      Y[i_1] = t
    }
    else {
      if (i_1 < N-3) {
        let t_1 = X[i_1]
        Y[i_1] = t_1
      }
    }
}
