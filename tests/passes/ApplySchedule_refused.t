# What a step cannot do is refused with its line; the length of a piece depends on the piece.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel copy(X: f32[6,33], Y: out f32[6,33]) {
  for i in 6, j in 33
    Y[i, j] = X[i, j]
}
schedule {
  split j 16 -> piece, lane
  reorder piece, lane, i
  reorder lane, piece
}
-- err
-:8: kernel copy: reorder lane: the bounds of loop lane depend on loop piece
