# Slices of different axes are one, wherever they begin and end; of one axis, with bounds that data says, or with an index that may have to be checked, they stay two.
-- args
print --passes=SimplifyExpr,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,M,K], %b: i64[1]) -> %open, %names, %few, %turned, %once, %data, %three {
  %zero: i64[1] = {0}
  %one: i64[1] = {1}
  %two: i32[1] = {2}
  %last: i64[1] = {-1}
  %less: i64[1] = {-3}
  %far: i64[1] = {9223372036854775807}
  %low: i64[1] = {-9223372036854775808}
  %far32: i32[1] = {2147483647}
  %rows: i32[1] = {1}
  %both: i64[2] = {-2, 1}
  %ends: i64[2] = {9223372036854775807, -1}
  %a = Slice(%x, %less, %far, %one)                "last rows"
  %open = Slice(%a, %zero, %last, %last)           "all columns but one"
  %names = Slice(%a, %two, %far32, %rows)          "the same axis by its other type"
  %c = Slice(%x, %both, %ends)                     "two axes, none named"
  %few = Slice(%c, %less, %far, %last)             "the third"
  %d = Slice(%x, %last, %low, %one, %last)         "mirrored"
  %turned = Slice(%d, %last, %low, %last, %last)   "mirrored, too"
  %e = Slice(%x, %less, %far, %one)                "of one axis"
  %once = Slice(%e, %zero, %last, %one)            "of the same"
  %f = Slice(%x, %b, %far, %zero)                  "data says from where"
  %data = Slice(%f, %one, %last, %one)             "numbers"
  %h = Slice(%x, %less, %far, %zero)               "first axis"
  %i = Slice(%h, %less, %far, %one)                "second axis"
  %three = Slice(%i, %less, %far, %last)           "third axis"
}
-- out
graph g(%x: f32[N,M,K], %b: i64[1]) -> %open, %names, %few, %turned, %once, %data, %three {
  symbol E3 in -2147483648..2147483647 = %b[0]
  %zero: i64[1]   = {0}
  %one: i64[1]    = {1}
  %two: i32[1]    = {2}
  %last: i64[1]   = {-1}
  %less: i64[1]   = {-3}
  %far: i64[1]    = {9223372036854775807}
  %far32: i32[1]  = {2147483647}
  %rows: i32[1]   = {1}
  %both: i64[2]   = {-2, 1}
  %ends: i64[2]   = {9223372036854775807, -1}
  %cut: i64[2]    = {-3, 0}
  %cut_1: i64[2]  = {9223372036854775807, -1}
  %cut_2: i64[2]  = {1, 2}
  %cut_3: i64[2]  = {1, 1}
  %cut_4: i64[2]  = {-1, -1}
  %cut_5: i64[2]  = {-9223372036854775808, -9223372036854775808}
  %cut_6: i64[2]  = {1, 2}
  %cut_7: i64[2]  = {-1, -1}
  %cut_12: i64[3] = {-3, -3, -3}
  %cut_13: i64[3] = {9223372036854775807, 9223372036854775807, 9223372036854775807}
  %cut_14: i64[3] = {0, 1, 2}
  %cut_15: i64[3] = {1, 1, 1}
  %a: f32[N,M-max(0, M-3),K]               = Slice(%x, %less, %far, %one)  "last rows"
  %open: f32[N,M-max(0, M-3),max(0, K-1)]  = Slice(%x, %cut, %cut_1, %cut_2, %cut_3)  "all columns but one" from "all columns but one", "last rows"
  %names: f32[N,max(0, M-max(0, M-3)-2),K] = Slice(%a, %two, %far32, %rows)  "the same axis by its other type"
  %c: f32[N-max(0, N-2),max(0, M-2),K]     = Slice(%x, %both, %ends)  "two axes, none named"
  %few: f32[N-max(0, N-2),max(0, M-2),K-max(0, K-3)] = Slice(%c, %less, %far, %last)  "the third"
  %turned: f32[N,M,K]                      = Slice(%x, %cut_4, %cut_5, %cut_6, %cut_7)  "mirrored, too" from "mirrored, too", "mirrored"
  %e: f32[N,M-max(0, M-3),K]               = Slice(%x, %less, %far, %one)  "of one axis"
  %once: f32[N,max(0, M-max(0, M-3)-1),K]  = Slice(%e, %zero, %last, %one)  "of the same"
  %f: f32[max(0, N-max(0, E3-N*(E3/2147483648))),M,K] = Slice(%x, %b, %far, %zero)  "data says from where"
  %data: f32[max(0, N-max(0, E3-N*(E3/2147483648))),max(0, M-2),K] = Slice(%f, %one, %last, %one)  "numbers"
  %three: f32[N-max(0, N-3),M-max(0, M-3),K-max(0, K-3)] = Slice(%x, %cut_12, %cut_13, %cut_14, %cut_15)  "third axis" from "third axis", "second axis", "first axis"
}
