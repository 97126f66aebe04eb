# A symbol that somebody speaks of keeps the node that it is read from; one that nobody does goes.
-- args
print --passes=InferShapes,DeadCodeElimination
-- in
graph g(%x: f32[8], %i: bool[6], %k: bool[6]) -> %y {
  %n = NonZero(%i)                "places"
  %m = NonZero(%k)                "nowhere"
  %s = Shape(%n) {start=1, end=2} "count"
  %z: f32[1] = {0}
  %y = Expand(%z, %s)             "y"
}
-- out
graph g(%x: f32[8], %i: bool[6], %k: bool[6]) -> %y {
  symbol D0 = dim(%n, 1)
  %z: f32[1] = {0}
  %n: i64[1,D0] = NonZero(%i)  "places"
  %s: i64[1]    = Shape(%n) {start=1, end=2}  "count"
  %y: f32[D0]   = Expand(%z, %s)  "y"
}
