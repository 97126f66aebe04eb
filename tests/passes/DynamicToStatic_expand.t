# Expand says 1 for a dim that stays, open or not; a new open dim, or one that was 1, stays computed.
-- args
print --passes=DynamicToStatic,DeadCodeElimination
-- in
graph g(%x: f32[B,2,1,S,8], %y: f32[1,4], %z: f32[S]) -> %a, %b, %c, %d {
  %zero: i64[1] = {0}
  %three: i64[1] = {3}
  %mid: i64[2] = {2, 3}
  %last: i64[1] = {8}
  %four: i64[1] = {4}
  %s = Shape(%x)
  %n = Gather(%s, %zero)
  %l = Gather(%s, %three)
  %t = Concat(%n, %mid, %l, %last) {axis=0}
  %a = Expand(%x, %t)                       "heads repeated"
  %u = Concat(%n, %four) {axis=0}
  %b = Expand(%y, %u)                       "1 becomes B"
  %v = Concat(%four, %l) {axis=0}
  %c = Expand(%z, %v)                       "more dims"
  %w = Concat(%n, %l) {axis=0}
  %d = Expand(%z, %w)                       "more open dims"
}
-- out
graph g(%x: f32[B,2,1,S,8], %y: f32[1,4], %z: f32[S]) -> %a, %b, %c, %d {
  %zero: i64[1]    = {0}
  %three: i64[1]   = {3}
  %four: i64[1]    = {4}
  %shape: i64[5]   = {1, 1, 3, 1, 1}
  %shape_1: i64[2] = {4, 1}
  %s: i64[5]         = Shape(%x)
  %n: i64[1]         = Gather(%s, %zero)
  %l: i64[1]         = Gather(%s, %three)
  %a: f32[B,2,3,S,8] = Expand(%x, %shape)  "heads repeated"
  %u: i64[2]         = Concat(%n, %four) {axis=0}
  %b: f32[B,4]       = Expand(%y, %u)  "1 becomes B"
  %c: f32[4,S]       = Expand(%z, %shape_1)  "more dims"
  %w: i64[2]         = Concat(%n, %l) {axis=0}
  %d: f32[B,S]       = Expand(%z, %w)  "more open dims"
}
