# A name that is no iterator, symbol or tensor.
-- args
print --ir=expr
-- in
expr f(X: f32[N]) -> Y {
  Y[i:N]: f32 = X[j]
}
-- err
-:2: unknown name 'j'
