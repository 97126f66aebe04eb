# A shape that is computed and known is numbers: a single open dim is -1, several that stay are 0.
-- args
print --passes=DynamicToStatic,DeadCodeElimination
-- in
graph g(%x: f32[N,18,32], %z: f32[N,S,32]) -> %a, %b, %c, %d {
  %zero: i64 = {0}
  %first: i64[1] = {0}
  %rest: i64[3] = {18, 4, 8}
  %heads: i64[2] = {4, 8}
  %words: i64[1] = {32}
  %s = Shape(%x)
  %n = Gather(%s, %first)
  %t = Concat(%n, %rest) {axis=0}
  %a = Reshape(%x, %t)  "heads"
  %u = Shape(%z) {end=2}
  %v = Concat(%u, %heads) {axis=0}
  %b = Reshape(%z, %v) {allowzero=1}  "both stay"
  %w = Concat(%u, %words) {axis=0}
  %c = Reshape(%b, %w)  "and back"
  %e = Size(%u)
  %m = ReduceProd(%u)
  %f = Concat(%m, %words) {axis=0}
  %d = Reshape(%z, %f)  "rows"
}
-- out
graph g(%x: f32[N,18,32], %z: f32[N,S,32]) -> %a, %b, %c, %d {
  %shape: i64[4]   = {-1, 18, 4, 8}
  %shape_1: i64[4] = {0, 0, 4, 8}
  %shape_2: i64[3] = {0, 0, 32}
  %shape_3: i64[2] = {-1, 32}
  %a: f32[N,18,4,8] = Reshape(%x, %shape)  "heads"
  %b: f32[N,S,4,8]  = Reshape(%z, %shape_1) {allowzero=0}  "both stay"
  %c: f32[N,S,32]   = Reshape(%b, %shape_2)  "and back"
  %d: f32[N*S,32]   = Reshape(%z, %shape_3)  "rows"
}
