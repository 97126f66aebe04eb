# Slices of slices are one, from whichever end.
-- args
print --passes=SimplifyExpr,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[8,100], %s: f32[M,N]) -> %two, %axes, %back, %tail, %turned, %gone, %front {
  %zero: i64[1] = {0}
  %one: i64[1] = {1}
  %five: i64[1] = {5}
  %ten: i64[1] = {10}
  %less: i64[1] = {-1}
  %far: i64[1] = {9223372036854775807}
  %low: i64[1] = {-9223372036854775808}
  %a = Slice(%x, %ten, %far, %one)                "from ten on"
  %two = Slice(%a, %five, %ten, %one)             "five more"
  %b = Slice(%x, %one, %five, %zero)              "rows"
  %axes = Slice(%b, %five, %ten, %one)            "columns"
  %c = Slice(%x, %ten, %far, %one)                "the rest"
  %back = Slice(%c, %less, %low, %one, %less)     "backwards"
  %d = Slice(%s, %one, %far, %zero)               "open rows"
  %tail = Slice(%d, %one, %far, %zero)            "open rows again"
  %e = Transpose(%x) {perm=[1,0]}                 "turn"
  %f = Slice(%e, %five, %ten, %zero)              "cut"
  %turned = Transpose(%f) {perm=[1,0]}            "turn back"
  %k = Slice(%s, %less, %low, %one, %less)        "mirrored"
  %gone = Slice(%k, %less, %low, %one, %less)     "and back"
  %l = Slice(%x, %zero, %ten, %one)               "first ones"
  %front = Slice(%l, %less, %low, %one, %less)    "mirrored, too"
}
-- out
graph g(%x: f32[8,100], %s: f32[M,N]) -> %two, %axes, %back, %tail, %turned, %gone, %front {
  %zero: i64[1]   = {0}
  %one: i64[1]    = {1}
  %far: i64[1]    = {9223372036854775807}
  %cut: i64[1]    = {15}
  %cut_1: i64[1]  = {20}
  %cut_2: i64[1]  = {1}
  %cut_3: i64[1]  = {1}
  %cut_4: i64[2]  = {1, 5}
  %cut_5: i64[2]  = {5, 10}
  %cut_6: i64[2]  = {0, 1}
  %cut_7: i64[2]  = {1, 1}
  %cut_8: i64[1]  = {99}
  %cut_9: i64[1]  = {9}
  %cut_10: i64[1] = {1}
  %cut_11: i64[1] = {-1}
  %cut_12: i64[1] = {5}
  %cut_13: i64[1] = {10}
  %cut_14: i64[1] = {1}
  %cut_15: i64[1] = {1}
  %cut_16: i64[1] = {9}
  %cut_17: i64[1] = {-9223372036854775808}
  %cut_18: i64[1] = {1}
  %cut_19: i64[1] = {-1}
  %two: f32[8,5]                      = Slice(%x, %cut, %cut_1, %cut_2, %cut_3)  "five more" from "five more", "from ten on"
  %axes: f32[4,5]                     = Slice(%x, %cut_4, %cut_5, %cut_6, %cut_7)  "columns" from "columns", "rows"
  %back: f32[8,90]                    = Slice(%x, %cut_8, %cut_9, %cut_10, %cut_11)  "backwards" from "backwards", "the rest"
  %d: f32[max(0, M-1),N]              = Slice(%s, %one, %far, %zero)  "open rows"
  %tail: f32[max(0, max(0, M-1)-1),N] = Slice(%d, %one, %far, %zero)  "open rows again"
  %turned: f32[8,5]                   = Slice(%x, %cut_12, %cut_13, %cut_14, %cut_15)  "turn back" from "turn back", "cut", "turn"
  %gone: f32[M,N]                     = Identity(%s)  "and back" from "and back", "mirrored"
  %front: f32[8,10]                   = Slice(%x, %cut_16, %cut_17, %cut_18, %cut_19)  "mirrored, too" from "mirrored, too", "first ones"
}
