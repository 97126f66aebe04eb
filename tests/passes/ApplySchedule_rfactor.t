# A sum in eight parts, joined behind it.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel k(X: f32[100], Y: out f32[4]) {
  for i in 4 {
    acc: f32 @reg = 0
    for k in 25
      acc[] += X[i*25 + k]
    Y[i] = acc[]
  }
}
schedule {
  split k 8 -> ko, ki
  rfactor ki @reg -> part
  bind ki @vector
}
-- out
kernel k(X: f32[100], Y: out f32[4]) {
  for i in 4 {
    acc: f32 @reg = 0
    part: f32[8] @reg = 0
    for ko in 4
      for ki in min(8, 25-ko*8) @vector
        part[ki] += X[i*25+ki+ko*8]
    for part_0 in 8
      acc[] += part[part_0]
    Y[i] = acc[]
  }
}
