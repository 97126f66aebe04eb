# Marked loops become their iterations, inner ones with the outer's number; long or unknown ones stay.
-- args
print --ir=loops --passes=Unroll
-- in
kernel taps(N, X: f32[N,8], Y: out f32[N,2]) {
  for n in N @parallel {
    for r in 2 @unroll {
      acc: f32 @reg = 0
      for s in r..3 @unroll
        if (s < 2)
          acc[] += X[n, s+2*r]
      Y[n, r] = acc[]
    }
    for k in 300 @unroll
      Y[n, k%2] += 1.0
    for m in n..N @unroll
      Y[m, 0] += 1.0
  }
}
-- out
kernel taps(N, X: f32[N,8], Y: out f32[N,2]) {
  for n in N @parallel {
    acc: f32 @reg = 0
    acc[] += X[n, 0]
    acc[] += X[n, 1]
    Y[n, 0] = acc[]
    acc_1: f32 @reg = 0
    acc_1[] += X[n, 3]
    Y[n, 1] = acc_1[]
    for k in 300
      Y[n, k%2] += 1
    for m in n..N
      Y[m, 0] += 1
  }
}
