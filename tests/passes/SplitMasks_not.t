# Left to masks alone: an else branch, what reads memory, what grows unevenly, equality, another value
# that differs between lanes, a long body.
-- args
print --ir=loops --passes=SplitMasks
-- in
kernel left(N, I: i64[N], Y: out f32[16]) flat {
  for i in 16 @vector(i32x16) {
    let n = i/2
    if (i < N)
      Y[i] = 1
    else
      Y[i] = 2
    if (i < I[0])
      Y[i] = 3
    if (i*i < N || i%3 < N)
      Y[i] = 4
    if (i*i < N)
      Y[i] = 5
    if (i == N)
      Y[i] = 6
    if (i < n)
      Y[i] = 7
    if (i < N)
      for j in N
        Y[i] += 8
  }
}
-- out
kernel left(N, I: i64[N], Y: out f32[16]) flat {
  for i in 16 @vector(i32x16) {
    let n = i/2
    if (i < N) {
      Y[i] = 1
    }
    else {
      Y[i] = 2
    }
    if (i < I[0])
      Y[i] = 3
    if (i*i < N || i%3 < N)
      Y[i] = 4
    if (i*i < N)
      Y[i] = 5
    if (i == N)
      Y[i] = 6
    if (i < n)
      Y[i] = 7
    if (i < N)
      for j in N
        Y[i] += 8
  }
}
