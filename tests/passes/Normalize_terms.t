# What changes seldom first, the constant before the lanes: symbols, n, c, then i by its step, which
# may be a sum of symbols. In comparisons lanes stand alone, on the side where their step is positive.
-- args
print --ir=loops --passes=Normalize
-- in
kernel terms(N, H, W, X: f32[100*N], Y: out f32[100*N]) flat {
  for n in N, c in 3 {
    Y[7 + c*5 + H*W + n*W + 2*n] = X[c + n*9]
    for i in 8 @vector(i32x8) {
      if (0 <= i + n - 3 && 2*i < c && n - 3*i > 4 && i + 1 == N)
        Y[i + 2 + c*20 + n*60] = X[W*i + i*c/c + n*8 + H*i] + X[3 - 2*i + c]
    }
  }
}
-- out
kernel terms(N, H, W, X: f32[N*100], Y: out f32[N*100]) flat {
  for n in N, c in 3 {
    Y[H*W+n*(W+2)+c*5+7] = X[n*9+c]
    for i in 8 @vector(i32x8)
      if (3-n <= i && i*2 < c && n-4 > i*3 && i == N-1)
        Y[n*60+c*20+2+i] = X[n*8+(i*c/c+i*(H+W))] + X[c+3+i*-2]
  }
}
