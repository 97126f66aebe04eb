# Views after views are one, or none: the elements of a value in other places, whatever moved them.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[N,3,4,5], %w: f32[5,7]) -> %same, %turned, %flat, %both, %back {
  %a = Transpose(%x) {perm=[0,2,3,1]}             "there"
  %b = Transpose(%a) {perm=[0,3,1,2]}             "and back"
  %same = Exp(%b)                                 "exp"
  %c = Transpose(%x) {perm=[1,0,2,3]}             "swap"
  %turned = Transpose(%c) {perm=[1,0,3,2]}        "swap more"
  %front: i64[1] = {0}
  %d = Unsqueeze(%x, %front)                      "front"
  %rows: i64[2] = {-1, 5}
  %flat = Reshape(%d, %rows)                      "rows"
  %t = Transpose(%w) {perm=[1,0]}                 "turn"
  %line: i64[1] = {-1}
  %l = Reshape(%t, %line)                         "line"
  %dims: i64[2] = {7, 5}
  %m = Reshape(%l, %dims)                         "matrix"
  %both = Transpose(%m) {perm=[1,0]}              "turn back"
  %last: i64[1] = {-1}
  %u = Unsqueeze(%w, %last)                       "last"
  %back = Squeeze(%u, %last)                      "no last"
}
-- out
graph g(%x: f32[N,3,4,5], %w: f32[5,7]) -> %same, %turned, %flat, %both, %back {
  %rows: i64[2] = {-1, 5}
  %same: f32[N,3,4,5]   = Exp(%x)  "exp"
  %turned: f32[N,3,5,4] = Transpose(%x) {perm=[0,1,3,2]}  "swap more" from "swap more", "swap"
  %flat: f32[N*12,5]    = Reshape(%x, %rows)  "rows" from "rows", "front"
  %both: f32[5,7]       = Identity(%w)  "turn back" from "turn back", "turn", "matrix"
  %back: f32[5,7]       = Identity(%w)  "no last" from "no last", "last"
}
