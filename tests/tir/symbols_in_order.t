# Symbols stay in the order of the text, wherever the body has them first.
-- args
print
-- in
kernel k(B, A, C, X: f32[A*B*C], Y: out f32[A*B*C]) {
  for i in C*A*B @parallel
    Y[i] = X[i] + f32(B)
}
-- out
kernel k(B, A, C, X: f32[A*B*C], Y: out f32[A*B*C]) {
  for i in C*A*B @parallel
    Y[i] = X[i] + f32(B)
}
