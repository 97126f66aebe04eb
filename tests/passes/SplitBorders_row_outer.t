# The outer loop of a window whose inner loop a row narrows is a window all the same, and so is one
# around several statements.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel k(X: f32[8,8], Y: out f32[8,8], I: out i64[8,8]) {
  for y in 8 @parallel
    for x in 8 {
      best: f32 @reg = -inf
      at: i64 @reg = 0
      for r in 3, s in 3
        if (0 <= y + r - 1 && y + r - 1 < 8 && 0 <= x + s - 1 && x + s - 1 < 8) {
          let term = X[y + r - 1, x + s - 1]
          at[] = term > best[] ? 3*r + s : at[]
          best[] = term > best[] ? term : best[]
        }
      Y[y, x] = best[]
      I[y, x] = at[]
    }
}
-- out
kernel k(X: f32[8,8], Y: out f32[8,8], I: out i64[8,8]) {
  for y in 8 @parallel
    if (0 <= y-1 && 0 <= 6-y) {
      for x in 8 {
        best: f32 @reg = -inf
        at: i64 @reg = 0
        for r in 3, s in max(0, 1-x)..min(3, 9-x) {
          let term = X[r+y-1, s+x-1]
          at[] = term > best[] ? r*3+s : at[]
          best[] = term > best[] ? term : best[]
        }
        Y[y, x] = best[]
        I[y, x] = at[]
      }
    }
    else {
      for x_1 in 8 {
        best_1: f32 @reg = -inf
        at_1: i64 @reg = 0
        for r_1 in 3
          if (0 <= r_1+y-1 && r_1+y-1 < 8)
            for s_1 in max(0, 1-x_1)..min(3, 9-x_1) {
              let term_1 = X[r_1+y-1, s_1+x_1-1]
              at_1[] = term_1 > best_1[] ? r_1*3+s_1 : at_1[]
              best_1[] = term_1 > best_1[] ? term_1 : best_1[]
            }
        Y[y, x_1] = best_1[]
        I[y, x_1] = at_1[]
      }
    }
}
