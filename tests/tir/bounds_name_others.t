# What a loop's variable may be follows from another's: that one goes last in the proof, and the
# quotients in between are known to within their divisor.
-- args
print --ir loops
-- in
kernel k(X: f32[6,4], Y: out f32[6,3]) {
  for i in 6, j in 3
    for r in 1-i/3..2, s in (1-j)/2+2
      Y[i,j] = X[i+r*3-3,j+s*2]
}
-- out
kernel k(X: f32[6,4], Y: out f32[6,3]) {
  for i in 6, j in 3, r in 1-i/3..2, s in (1-j)/2+2
    Y[i, j] = X[i+r*3-3, j+s*2]
}
