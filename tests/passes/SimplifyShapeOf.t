# What is computed of shapes is asked of Shape at once: runs of dims, numbers beside them, single elements, -1 replaced.
-- args
print --passes=InferShapes,SimplifyShapeOf,EliminateCommonSubexpr,SimplifyShapeOf,EliminateCommonSubexpr,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,M,8], %y: f32[K,5,M]) -> %pair, %number, %product, %whole, %mixed, %heads, %copied, %joined {
  %zero: i64[1] = {0}
  %one: i64 = {1}
  %two: i64[1] = {2}
  %both: i64[2] = {0, 1}
  %less: i64[1] = {-1}
  %lesses: i64[2] = {-1, -1}
  %ones: i64[2] = {1, 1}
  %s = Shape(%x)                                      "shape of x"
  %t = Shape(%y)                                      "shape of y"
  %pair = Gather(%s, %both)                           "two dims"
  %number = Gather(%s, %one)                          "one dim"
  %n = Gather(%s, %zero)
  %product = ReduceProd(%n) {keepdims=0}              "of one element"
  %whole = Concat(%pair, %two) {axis=0}               "two dims and a number"
  %k = Gather(%t, %zero)
  %mixed = Concat(%n, %k, %less) {axis=0}             "of two tensors"
  %e8 = Gather(%s, %two)
  %heads = Concat(%k, %e8, %pair) {axis=0}            "numbers among them"
  %c = Concat(%n, %less) {axis=0}
  %e = Equal(%c, %lesses)
  %copied = Where(%e, %ones, %c)                      "1 where it says -1"
  %inner = Concat(%k, %two) {axis=0}
  %joined = Concat(%inner, %n) {axis=0}               "joined twice"
}
-- out
graph g(%x: f32[N,M,8], %y: f32[K,5,M]) -> %pair, %number, %product, %whole, %mixed, %heads, %copied, %joined {
  %two: i64[1]        = {2}
  %less: i64[1]       = {-1}
  %numbers: i64[1]    = {1}
  %shape: i64[0]      = {}
  %numbers_10: i64[1] = {8}
  %pair: i64[2]   = Shape(%x) {start=0, end=2}  "two dims" from "two dims", "numbers among them"
  %v_6: i64[1]    = Shape(%x) {start=1, end=2}  "one dim"
  %number: i64    = Reshape(%v_6, %shape)  "one dim"
  %n: i64[1]      = Shape(%x) {start=0, end=1} from "of one element", "1 where it says -1"
  %product: i64   = Reshape(%n, %shape)  "of one element"
  %whole: i64[3]  = Concat(%pair, %two) {axis=0}  "two dims and a number"
  %k: i64[1]      = Shape(%y) {start=0, end=1} from "numbers among them"
  %mixed: i64[3]  = Concat(%n, %k, %less) {axis=0}  "of two tensors"
  %heads: i64[4]  = Concat(%k, %numbers_10, %pair) {axis=0}  "numbers among them"
  %copied: i64[2] = Concat(%n, %numbers) {axis=0}  "1 where it says -1"
  %joined: i64[3] = Concat(%k, %two, %n) {axis=0}  "joined twice"
}
