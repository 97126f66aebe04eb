# Reductions: long, across lanes, of negative numbers, of narrow types, with places; casts.
graph reduce(%x: f32[3,1009], %l: f32[524287], %h: f16[5,67], %k: f32[2000,700]) -> %m, %s, %a, %t, %q, %w, %n, %j {
  %e = Exp(%x)  "exp"
  %g = Neg(%e)  "negative"
  %ax: i64[1] = {1}
  %m = ReduceMax(%g, %ax)  "largest"
  %ax0: i64[1] = {0}
  %s = ReduceSum(%l, %ax0)  "long"
  %a = ArgMax(%x) {axis=1}  "place"
  %t = ReduceSum(%h, %ax)  "half"
  %q = Cast(%x) {to=3}  "bytes"
  %one: i64 = {1}
  %w = CumSum(%x, %one) {reverse=1}  "sums"
  %n = ReduceMean(%k, %ax0)  "columns"
  %j = Cast(%x) {to=10}  "halves"
}
