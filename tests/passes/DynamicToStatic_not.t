# What Reshape cannot say is computed: two dims that are elsewhere, one that stays beside one that
# follows (where it is 0 nothing follows), an extent of 0, a shape that data decides.
-- args
print --passes=DynamicToStatic
-- in
graph g(%x: f32[N,S,6], %e: f32[N,0,3], %k: i64[2]) -> %a, %b, %c, %d {
  %first: i64[1] = {0}
  %second: i64[1] = {1}
  %six: i64[1] = {6}
  %two: i64[1] = {2}
  %three: i64[1] = {3}
  %none: i64[1] = {0}
  %s = Shape(%x)
  %n = Gather(%s, %first)
  %l = Gather(%s, %second)
  %t = Concat(%l, %n, %six) {axis=0}
  %a = Reshape(%x, %t)  "swapped"
  %m = Mul(%l, %two)
  %u = Concat(%n, %m, %three) {axis=0}
  %b = Reshape(%x, %u)  "one stays"
  %v = Concat(%n, %three, %none) {axis=0}
  %c = Reshape(%e, %v) {allowzero=1}  "nothing"
  %d = Reshape(%x, %k)  "by data"
}
-- out
graph g(%x: f32[N,S,6], %e: f32[N,0,3], %k: i64[2]) -> %a, %b, %c, %d {
  symbol E2 in -2147483647..2147483647 = %k[0]
  symbol E3 in -2147483647..2147483647 = %k[1]
  symbol R4 = E2 == -1 ? N*S*6/((E2 == 0 ? N : E2)*(E3 == 0 ? S : E3)*-1) : E2 == 0 ? N : E2
  symbol R5 = E3 == -1 ? N*S*6/((E2 == 0 ? N : E2)*(E3 == 0 ? S : E3)*-1) : E3 == 0 ? S : E3
  assume N*S*6 == R4*R5  "elements before and after"
  %first: i64[1]  = {0}
  %second: i64[1] = {1}
  %six: i64[1]    = {6}
  %two: i64[1]    = {2}
  %three: i64[1]  = {3}
  %none: i64[1]   = {0}
  %s: i64[3]       = Shape(%x)
  %n: i64[1]       = Gather(%s, %first)
  %l: i64[1]       = Gather(%s, %second)
  %t: i64[3]       = Concat(%l, %n, %six) {axis=0}
  %a: f32[S,N,6]   = Reshape(%x, %t)  "swapped"
  %m: i64[1]       = Mul(%l, %two)
  %u: i64[3]       = Concat(%n, %m, %three) {axis=0}
  %b: f32[N,S*2,3] = Reshape(%x, %u)  "one stays"
  %v: i64[3]       = Concat(%n, %three, %none) {axis=0}
  %c: f32[N,3,0]   = Reshape(%e, %v) {allowzero=1}  "nothing"
  %d: f32[R4,R5]   = Reshape(%x, %k)  "by data"
}
