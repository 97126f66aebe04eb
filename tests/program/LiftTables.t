# Positions and weights of a resized axis: in tables, not again in each channel; what keeps the index
# in range stays at the read.
-- args
print --ir=expr --passes=LiftTables
-- in
expr f(X: f32[8,64,W]) -> Y {
  Y[c:8,h:64,p:100]: f32 = sum(r:2) max(1.0 - abs(f32(r) - (f32(p) + 0.5) * 0.3), 0.0) * X[c, h, at(i64(ceil((f32(p) + 0.5) * 0.3 - 0.5)) + r, 0..W)]
}
-- out
expr f(X: f32[8,64,W]) -> Y {
  table[i0:100]: i64 = i64(ceil((f32(i0) + 0.5) * 0.3 - 0.5))
  table_2[i0:100, i1:2]: f32 = max(1 - abs(f32(i1) - (f32(i0) + 0.5) * 0.3), 0)
  Y[c:8, h:64, p:100]: f32 = sum(r:2) table_2[p, r] * X[c, h, at(table[p]+r, 0..W)]
}
