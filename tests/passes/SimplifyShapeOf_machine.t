# For a machine nothing computes what is known: it stays.
-- args
print --passes=InferShapes,SimplifyShapeOf,WidenHalves,DeadCodeElimination --target=cpu:x86-64-v4
-- in
graph g(%x: f32[N,M,8]) -> %n {
  %zero: i64[1] = {0}
  %s = Shape(%x)
  %n = Gather(%s, %zero)
}
-- out
graph g(%x: f32[N,M,8]) -> %n {
  %zero: i64[1] = {0}
  %s: i64[3] = Shape(%x)
  %n: i64[1] = Gather(%s, %zero)
}
