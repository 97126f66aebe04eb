# Windows with stride 2 share little: each row alone.
-- args
print --ir=loops --passes=TileRows
-- in
kernel pool(X: f32[8,57,56], Y: out f32[8,28,28]) {
  for f in 8 @parallel
    for p in 28 @parallel
      for q in 28 @vector {
        m: f32 @reg = -inf
        for r in 3, s in 2
          m[] max= X[f, 2*p+r, 2*q+s]
        Y[f, p, q] = m[]
      }
}
-- out
kernel pool(X: f32[8,57,56], Y: out f32[8,28,28]) {
  for f in 8 @parallel
    for p in 28 @parallel
      for q in 28 @vector {
        m: f32 @reg = -inf
        for r in 3, s in 2
          m[] max= X[f, p*2+r, q*2+s]
        Y[f, p, q] = m[]
      }
}
