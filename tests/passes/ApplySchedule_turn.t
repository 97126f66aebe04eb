# Which loops are turned in registers TurnLoops finds: no script says so.
-- args
print --passes=ApplySchedule
-- in
kernel f(X: f32[16,16], Y: out f32[16,16]) {
  for i in 16, j in 16
    Y[i, j] = X[j, i]
}
schedule {
  bind j @turn
}
-- err
-:6: kernel f: bind j: @turn is what TurnLoops finds
