# An input in blocks of 16 channels: the block is a loop of its own where it is written, too.
-- args
print --ir=expr --passes=ApplyLayouts --config ApplyLayouts.X=nc16hw --config ApplyLayouts.Y=nc16hw
-- in
expr f(X: f32[N,32,8,8]) -> Y {
  Y[n:N, c:32, h:8, w:8]: f32 = max(X[n, c, h, w], 0.0)
}
-- out
expr f(X: f32[N,2,8,8,16]) -> Y {
  Y[n:N, c:2, h:8, w:8, b:16]: f32 = max(X[n, c, h, w, b], 0)
}
