# Left as plain loops: an array made for each iteration, registers of which each lane takes another
# element, a loop that runs more often in some lanes, one place that all lanes store to in turn.
-- args
print --ir=loops --passes=Flatten,Vectorize --target cpu:x86-64-v4
-- in
kernel left(N, I: i64[N], X: f32[N], Y: out f32[N], H: out f16[1]) {
  for i in N @vector {
    row: f32[4] @stack = 0
    row[i % 4] = X[i]
    Y[i] = row[0]
  }
  for i in N @vector {
    own: f32[4] @reg = 0
    own[i % 4] = X[i]
    Y[i] = own[0]
  }
  for i in N @vector {
    own: f32[4] @reg = 0
    Y[i] = own[i % 4]
  }
  for i in N @vector {
    let n = i / 4
    for j in n
      Y[i] = X[j]
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
  for i_1 in N {
    own: f32[4] @reg = 0
    own[i_1%4] = X[i_1]
    Y[i_1] = own[0]
  }
  for i_2 in N {
    own_1: f32[4] @reg = 0
    Y[i_2] = own_1[i_2%4]
  }
  for i_3 in N {
    let n = i_3/4
    for j in n
      Y[i_3] = X[j]
  }
  H[0] = 0
  for i_4 in N
    H[0] += f16(X[i_4])
}
