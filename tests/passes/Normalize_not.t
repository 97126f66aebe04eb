# Left as they are: squares, comparisons of floats, of scalars, of two that differ between lanes.
-- args
print --ir=loops --passes=Normalize
-- in
kernel left(N, I: i64[N], X: f32[100*N], Y: out f32[100*N]) flat {
  for n in N
    for i in 8 @vector(i32x8) {
      let t = X[i*i + n]
      if (t < 3 && n < N - 1 && i*i < n && i/2 < i%3)
        Y[i/2 + n] = t
    }
}
-- out
kernel left(N, I: i64[N], X: f32[N*100], Y: out f32[N*100]) flat {
  for n in N
    for i in 8 @vector(i32x8) {
      let t = X[n+i*i]
      if (n < N-1 && (t < 3 && i*i < n && i/2 < i%3))
        Y[n+i/2] = t
    }
}
