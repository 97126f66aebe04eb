# Every kind of statement reads back as it prints; serial loops that nest perfectly share a line.
-- args
print --ir=loops
-- in
kernel every(N in 1..64, I: i64[N], X: f32[7] strides(2), Z: out alias f16[N] strides(3), Y: out f32[N]) "a + b" {
  for i in N @parallel
  {
    t: f32[4,2] @stack = 0.5
    u: i32[N] @scratch
    w: f32[3] @reg(4) = 0
    let k = at(I[i], 0..7, wrap, check)
    if (X[k] > 0) { Y[i] = X[k] } else { Y[i] min= -X[k] }
    Z[i] = f16(X[k])
    for j in 2
      for l in 1..2
        for m in 2 @unroll
          t[j + m, l] += X[k]
    for v in N @vector
      u[v] = 1
  }
}
-- out
kernel every(N in 1..64, I: i64[N], X: f32[7] strides(2), Z: out alias f16[N] strides(3), Y: out f32[N]) "a + b" {
  for i in N @parallel {
    t: f32[4,2] @stack = 0.5
    u: i32[N] @scratch
    w: f32[3] @reg(4) = 0
    let k = at(I[i], 0..7, wrap, check)
    if (X[k] > 0) {
      Y[i] = X[k]
    }
    else {
      Y[i] min= -X[k]
    }
    Z[i] = f16(X[k])
    for j in 2, l in 1..2
      for m in 2 @unroll
        t[j+m, l] += X[k]
    for v in N @vector
      u[v] = 1
  }
}
