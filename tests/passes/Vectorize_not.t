# Left as plain loops: an array made for each iteration, one place that all lanes store to in turn.
-- args
print --ir=loops --passes=Flatten,Vectorize --target cpu:x86-64-v4
-- in
kernel left(N, I: i64[N], X: f32[N], Y: out f32[N], H: out f16[1]) {
  for i in N @vector {
    row: f32[4] @stack = 0
    row[i % 4] = X[i]
    Y[i] = row[0]
  }
  H[0] = 0
  for i in N @vector
    H[0] += f16(X[i])
}
-- out
kernel left(N, I: i64[N], X: f32[N], Y: out f32[N], H: out f16[1]) flat {
  for i in N {
    row: f32[4] @stack = 0
    row[i%4] = X[i]
    Y[i] = row[0]
  }
  H[0] = 0
  for i_1 in N
    H[0] += f16(X[i_1])
}
