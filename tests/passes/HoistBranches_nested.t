# An if in the if that left the loop leaves it, too.
-- args
print --ir=loops --passes=HoistBranches
-- in
kernel k(a: f32[64], y: out f32[8,8], M, N) {
  for i in 8
    for j in 8
      if (i < M)
        if (i < N)
          if (j < N)
            y[i, j] = a[i*8+j]
}
-- out
kernel k(M, N, a: f32[64], y: out f32[8,8]) {
  for i in 8
    if (i < M)
      if (i < N)
        for j in 8
          if (j < N)
            y[i, j] = a[i*8+j]
}
