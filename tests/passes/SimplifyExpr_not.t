# What differs for -0, in a bit, in a dim or in an index out of range stays; so does what has other readers.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[1,3], %l: i64[3], %s: f32[M,N], %k: f32[4,6], %i: i64[2]) -> %a, %b, %c, %d, %e, %f, %g, %h {
  %zero: f32 = {0}
  %a0 = Add(%x, %zero)                            "-0 becomes 0"
  %a = Exp(%a0)                                   "a"
  %one: f32[4,1] = {1, 1, 1, 1}
  %b = Mul(%x, %one)                              "broadcast"
  %l1 = Cast(%l) {to=6}                           "narrow"
  %c = Cast(%l1) {to=7}                           "wide again"
  %d1 = Cast(%s) {to=10}                          "rounded"
  %d = Cast(%d1) {to=1}                           "wide"
  %t = Transpose(%s) {perm=[1,0]}                 "turn"
  %line: i64[1] = {-1}
  %e = Reshape(%t, %line)                         "turned, in a line"
  %g0 = Gather(%k, %i)                            "checked"
  %g = Neg(%g0)                                   "g"
  %tk = Transpose(%k) {perm=[1,0]}                "turned k"
  %f = Softmax(%tk) {axis=1}                      "rows"
  %h1 = Softmax(%tk) {axis=1}                     "rows once more"
  %h = Transpose(%h1) {perm=[1,0]}                "turned back"
}
-- out
graph g(%x: f32[1,3], %l: i64[3], %s: f32[M,N], %k: f32[4,6], %i: i64[2]) -> %a, %b, %c, %d, %e, %f, %g, %h {
  %zero: f32     = {0}
  %one: f32[4,1] = weight 1
  %line: i64[1]  = {-1}
  %a0: f32[1,3] = Add(%x, %zero)  "-0 becomes 0"
  %a: f32[1,3]  = Exp(%a0)  "a"
  %b: f32[4,3]  = Mul(%x, %one)  "broadcast"
  %l1: i32[3]   = Cast(%l) {to=6}  "narrow"
  %c: i64[3]    = Cast(%l1) {to=7}  "wide again"
  %d1: f16[M,N] = Cast(%s) {to=10}  "rounded"
  %d: f32[M,N]  = Cast(%d1) {to=1}  "wide"
  %t: f32[N,M]  = Transpose(%s) {perm=[1,0]}  "turn"
  %e: f32[M*N]  = Reshape(%t, %line)  "turned, in a line"
  %g0: f32[2,6] = Gather(%k, %i)  "checked"
  %g: f32[2,6]  = Neg(%g0)  "g"
  %tk: f32[6,4] = Transpose(%k) {perm=[1,0]}  "turned k"
  %f: f32[6,4]  = Softmax(%tk) {axis=1}  "rows"
  %h1: f32[6,4] = Softmax(%tk) {axis=1}  "rows once more"
  %h: f32[4,6]  = Transpose(%h1) {perm=[1,0]}  "turned back"
}
