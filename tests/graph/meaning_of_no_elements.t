# Nothing is read where there is nothing: every index of an empty box is certain.
-- args
print --meaning
-- in
graph g(%x: f32[0]) -> %y {
  %y = Neg(%x) "n"
}
-- out
# n (Neg)
expr Neg(x: f32[0]) -> y {
  y[i0:0]: f32 = -x[i0]
}
