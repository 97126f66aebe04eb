# A meaning is asked of types that follow from the operands, whatever a text declares.
-- args
print --meaning
-- in
graph g(%x: f32[4]) -> %y {
  %y: f32 = Relu(%x)
}
-- out
#  (Relu)
expr Relu(x: f32[4]) -> y {
  y[i0:4]: f32 = max(x[i0], 0)
}
