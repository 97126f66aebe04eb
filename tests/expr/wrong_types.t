# Operands of one operation have one type; conversions are written.
-- args
print --ir=expr
-- in
expr f(X: f32[N]) -> Y {
  Y[i:N]: f32 = X[i] * i
}
-- err
-:3: '*' does not take operands of type f32, i64
