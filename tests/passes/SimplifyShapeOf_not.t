# What stays: nothing fewer, what others read too, what is no dim, other types, what is one Shape and one Concat already.
-- args
print --passes=InferShapes,SimplifyShapeOf,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,M,8], %i: i64[1]) -> %s, %sum, %short, %data, %part, %done, %view, %wide, %turned {
  %zero: i64[1] = {0}
  %one: i64 = {1}
  %two: i64[1] = {2}
  %back: i64[2] = {1, 0}
  %s = Shape(%x)                                 "it is read"
  %n = Shape(%x) {start=0, end=1}
  %m = Shape(%x) {start=1, end=2}
  %sum = Add(%n, %two)                           "no dim"
  %short = Cast(%n) {to=6}                       "another type"
  %data = Gather(%s, %i)                         "data says which"
  %part = Concat(%n, %two) {axis=0}              "one of each"
  %done = Concat(%m, %n) {axis=0}                "two of each"
  %view = Squeeze(%m, %zero)                     "a view"
  %wide = Unsqueeze(%s, %zero)                   "two axes"
  %turned = Gather(%s, %back)                    "two runs would be more"
}
-- out
graph g(%x: f32[N,M,8], %i: i64[1]) -> %s, %sum, %short, %data, %part, %done, %view, %wide, %turned {
  %zero: i64[1] = {0}
  %two: i64[1]  = {2}
  %back: i64[2] = {1, 0}
  %s: i64[3]      = Shape(%x)  "it is read"
  %n: i64[1]      = Shape(%x) {start=0, end=1}
  %m: i64[1]      = Shape(%x) {start=1, end=2}
  %sum: i64[1]    = Add(%n, %two)  "no dim"
  %short: i32[1]  = Cast(%n) {to=6}  "another type"
  %data: i64[1]   = Gather(%s, %i)  "data says which"
  %part: i64[2]   = Concat(%n, %two) {axis=0}  "one of each"
  %done: i64[2]   = Concat(%m, %n) {axis=0}  "two of each"
  %view: i64      = Squeeze(%m, %zero)  "a view"
  %wide: i64[1,3] = Unsqueeze(%s, %zero)  "two axes"
  %turned: i64[2] = Gather(%s, %back)  "two runs would be more"
}
