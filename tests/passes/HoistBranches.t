# Conditions leave the loops that they do not change in, as far as nothing to their left reads, and
# join on the way; an else takes a loop along, and what stands behind the loop runs once.
-- args
print --ir=loops --passes=Normalize,HoistBranches --verify=each
-- in
kernel branches(n, X: f32[800], P: i64[8], Y: out f32[800]) flat {
  for j in 8 {
    for i in 8 @vector(i32x8)
      if (j < n)
        Y[j*8 + i] = X[i]
    for i in 8 {
      if (j < n && i < 5)
        Y[j*8 + i] += X[j]
    }
    for i in 8
      for k in 3 {
        if (j < 4) {
          Y[j*8 + i] += X[k]
        }
        else {
          Y[j*8 + i] max= X[k]
        }
      }
    Y[j] += 1.0
    for i in 8
      if (P[j] < n && j < n)
        Y[i] += 2.0
    for i in 8 {
      let b = j < n
      if (b)
        Y[i] += 3.0
    }
  }
}
-- out
kernel branches(n, X: f32[800], P: i64[8], Y: out f32[800]) flat {
  for j in 8 {
    if (j < n) {
      for i in 8 @vector(i32x8)
        Y[j*8+i] = X[i]
      for i_1 in 8
        if (i_1 < 5)
          Y[j*8+i_1] += X[j]
    }
    if (j < 4) {
      for i_2 in 8, k in 3
        Y[j*8+i_2] += X[k]
    }
    else {
      for i_2_1 in 8, k_1 in 3
        Y[j*8+i_2_1] max= X[k_1]
    }
    Y[j] += 1
    for i_3 in 8
      if (P[j] < n && j < n)
        Y[i_3] += 2
    for i_4 in 8 {
      let b = j < n
      if (b)
        Y[i_4] += 3
    }
  }
}
