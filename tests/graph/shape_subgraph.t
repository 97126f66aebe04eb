# Integers computed from a shape are known, so Reshape gets dims and not symbols of its own.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,S,768]) -> %y {
  %zero: i64 = {0}
  %one: i64 = {1}
  %axis: i64[1] = {0}
  %heads: i64[2] = {12, 64}
  %shape = Shape(%x)
  %n = Gather(%shape, %zero)
  %s = Gather(%shape, %one)
  %n1 = Unsqueeze(%n, %axis)
  %s1 = Unsqueeze(%s, %axis)
  %target = Concat(%n1, %s1, %heads) {axis=0}
  %split = Reshape(%x, %target)
  %y = Transpose(%split) {perm=[0,2,1,3]}
}
-- out
graph g(%x: f32[N,S,768]) -> %y {
  %zero: i64     = {0}
  %one: i64      = {1}
  %axis: i64[1]  = {0}
  %heads: i64[2] = {12, 64}
  %shape: i64[3]         = Shape(%x)
  %n: i64                = Gather(%shape, %zero)
  %s: i64                = Gather(%shape, %one)
  %n1: i64[1]            = Unsqueeze(%n, %axis)
  %s1: i64[1]            = Unsqueeze(%s, %axis)
  %target: i64[4]        = Concat(%n1, %s1, %heads) {axis=0}
  %split: f32[N,S,12,64] = Reshape(%x, %target)
  %y: f32[N,12,S,64]     = Transpose(%split) {perm=[0,2,1,3]}
}
