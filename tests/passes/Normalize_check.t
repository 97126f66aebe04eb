# A sum is put in order around a check whose own operand is put in order, too; where equal checks
# would meet in a sum and go, that sum alone stays as it is.
-- args
print --ir=loops --passes=Normalize --verify=each
-- in
kernel checked(n, m, I: i64[n], X: f32[n*m*3], Y: out f32[n*m*3]) flat {
  for i in n
    for j in m
      Y[j*3 + i*m*3] = X[at(1 + I[i] - 1, 0..n, check)*m*3 + 3*j + 0]
  for i in n
    for j in m
      Y[j*3 + i*m*3] = X[3*j + m*(at(I[i], 0..n, check) - at(I[i], 0..n, check))]
}
-- out
kernel checked(n, m, I: i64[n], X: f32[m*n*3], Y: out f32[m*n*3]) flat {
  for i in n, j in m
    Y[i*(m*3)+j*3] = X[at(I[i], 0..n, check)*(m*3)+j*3]
  for i_1 in n, j_1 in m
    Y[i_1*(m*3)+j_1*3] = X[3*j_1+m*(at(I[i_1], 0..n, check)-at(I[i_1], 0..n, check))]
}
