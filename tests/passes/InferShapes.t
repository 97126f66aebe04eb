# Types, dims and the integers that are known, through shapes that are computed; what data decides has
# a symbol of its own.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,2,4], %m: bool[5]) -> %y, %n {
  %rest: i64[1] = {-1}
  %s = Shape(%x) {start=0, end=1}       "rows"
  %t = Concat(%s, %rest) {axis=0}       "shape"
  %y = Reshape(%x, %t)                  "flat"
  %n = NonZero(%m)                      "places"
}
-- out
graph g(%x: f32[N,2,4], %m: bool[5]) -> %y, %n {
  symbol D1 = dim(%n, 1)
  %rest: i64[1] = {-1}
  %s: i64[1]    = Shape(%x) {start=0, end=1}  "rows"
  %t: i64[2]    = Concat(%s, %rest) {axis=0}  "shape"
  %y: f32[N,8]  = Reshape(%x, %t)  "flat"
  %n: i64[1,D1] = NonZero(%m)  "places"
}
