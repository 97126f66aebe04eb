# 20 channels in blocks of 16: what is behind them is written as 0.
-- args
print --ir=expr --passes=ApplyLayouts --config ApplyLayouts.Y=nc16hw
-- in
expr f(X: f32[1,20,4,4]) -> Y {
  Y[n:1, c:20, h:4, w:4]: f32 = exp(X[n, c, h, w])
}
-- out
expr f(X: f32[1,20,4,4]) -> Y {
  Y[n:1, c:2, h:4, w:4, b:16]: f32 = 16*c+b < 20 ? exp(X[n, c*16+b, h, w]) : 0
}
