# What inference knows of truths is folded, too: no dim is below 0, and exporters ask which part of a shape is -1.
-- args
print --passes=InferShapes,FoldConstant,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,M,3], %k: i64[1]) -> %shape, %never, %maybe, %data, %none {
  %zero: i64[1] = {0}
  %less: i64[1] = {-1}
  %lesses: i64[3] = {-1, -1, -1}
  %ones: i64[3] = {1, 1, 1}
  %s = Shape(%x)
  %n = Gather(%s, %zero)                       "an open dim"
  %c = Concat(%n, %less, %less) {axis=0}
  %e = Equal(%c, %lesses)                      "which are -1"
  %shape = Where(%e, %ones, %c)
  %never = Less(%s, %zero)                     "none is below 0"
  %maybe = Equal(%n, %ones)                    "it may be 1"
  %data = Equal(%k, %less)                     "data says so"
  %two = Slice(%s, %zero, %zero)
  %none = Equal(%two, %zero)                   "of no elements"
}
-- out
graph g(%x: f32[N,M,3], %k: i64[1]) -> %shape, %never, %maybe, %data, %none {
  %zero: i64[1]   = {0}
  %less: i64[1]   = {-1}
  %ones: i64[3]   = {1, 1, 1}
  %e_1: bool[3]   = {0, 1, 1}
  %never: bool[3] = {0, 0, 0}
  %none: bool[0]  = {}
  %s: i64[3]      = Shape(%x)
  %n: i64[1]      = Gather(%s, %zero)  "an open dim"
  %c: i64[3]      = Concat(%n, %less, %less) {axis=0}
  %shape: i64[3]  = Where(%e_1, %ones, %c)
  %maybe: bool[3] = Equal(%n, %ones)  "it may be 1"
  %data: bool[1]  = Equal(%k, %less)  "data says so"
}
