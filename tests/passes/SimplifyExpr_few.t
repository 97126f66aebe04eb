# What works on few elements does not go before the Slice that leaves the others out.
-- args
print --passes=SimplifyExpr,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[8,100], %s: f32[M,N]) -> %few, %open, %all {
  %zero: i64[1] = {0}
  %one: i64[1] = {1}
  %last: i64[1] = {-1}
  %low: i64[1] = {-9223372036854775808}
  %far: i64[1] = {9223372036854775807}
  %a = Slice(%x, %zero, %one, %one)               "one column"
  %b = Exp(%a)                                    "of few"
  %few = Transpose(%b) {perm=[1,0]}               "turned"
  %c = Slice(%s, %one, %far, %one)                "open columns"
  %d = Exp(%c)                                    "of open columns"
  %open = Transpose(%d) {perm=[1,0]}              "open columns turned"
  %e = Slice(%s, %last, %low, %zero, %last)       "mirrored"
  %f = Exp(%e)                                    "of all"
  %all = Slice(%f, %last, %low, %zero, %last)     "and back"
}
-- out
graph g(%x: f32[8,100], %s: f32[M,N]) -> %few, %open, %all {
  %zero: i64[1] = {0}
  %one: i64[1]  = {1}
  %far: i64[1]  = {9223372036854775807}
  %a: f32[8,1]              = Slice(%x, %zero, %one, %one)  "one column"
  %b: f32[8,1]              = Exp(%a)  "of few"
  %few: f32[1,8]            = Transpose(%b) {perm=[1,0]}  "turned"
  %c: f32[M,max(0, N-1)]    = Slice(%s, %one, %far, %one)  "open columns"
  %d: f32[M,max(0, N-1)]    = Exp(%c)  "of open columns"
  %open: f32[max(0, N-1),M] = Transpose(%d) {perm=[1,0]}  "open columns turned"
  %all: f32[M,N]            = Exp(%s)  "of all" from "of all", "and back"
}
