# Without a row around it a sum of taps is a place of its own: inside of the image it has no tests, at
# the border it has them, not bounds to count to.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel k(X: f32[8,32], W: f32[32,3], Y: out f32[8]) {
  for y in 8 @parallel {
    acc: f32 @reg = 0
    for c in 32, r in 3
      if (0 <= y + r - 1 && y + r - 1 < 8)
        acc[] += X[y + r - 1, c] * W[c, r]
    Y[y] = acc[]
  }
}
-- out
kernel k(X: f32[8,32], W: f32[32,3], Y: out f32[8]) {
  for y in 8 @parallel {
    acc: f32 @reg = 0
    if (0 <= y-1 && 0 <= 6-y) {
      for c in 32, r in 3
        acc[] += X[r+y-1, c] * W[c, r]
    }
    else {
      for c_1 in 32, r_1 in 3
        if (0 <= r_1+y-1 && r_1+y-1 < 8)
          acc[] += X[r_1+y-1, c_1] * W[c_1, r_1]
    }
    Y[y] = acc[]
  }
}
