# Which element of equal numbers is taken does not matter, but an index outside is reported: Mod stays.
-- args
print --passes=SimplifyExpr
-- in
graph g(%x: i64[1]) -> %y {
  %d: f32[2] = {0.5, 0.5}
  %c: i64 = {2}
  %m = Mod(%x, %c)
  %y = GatherElements(%d, %m)
}
-- out
graph g(%x: i64[1]) -> %y {
  %d: f32[2] = {0.5, 0.5}
  %c: i64    = {2}
  %m: i64[1] = Mod(%x, %c)
  %y: f32[1] = GatherElements(%d, %m)
}
