# What is added per channel becomes a bias: where there is none, and to one that is there; not where
# it is scaled (beta), added per column of pixels, or where the sum before is read by others.
-- args
print --passes=InferShapes,FoldBias,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,3,8,4], %h: f32[N,5]) -> %a, %b, %c, %d, %e, %f, %k {
  %w: f32[4,3,1,1] = weight 0
  %t: f32[4,1,1] = weight 1
  %u: f32[4] = weight 2
  %v: f32[5,4] = weight 3
  %p = Conv(%x, %w)            "conv"
  %a = Add(%p, %t)             "bias"
  %q = Conv(%x, %w, %u)        "biased"
  %b = Add(%t, %q)             "more"
  %r = Gemm(%h, %v)            "gemm"
  %c = Add(%r, %u)             "row"
  %s = Gemm(%h, %v) {beta=0.5} "half"
  %d = Add(%s, %u)             "half_row"
  %m = Conv(%x, %w)            "pixels"
  %e = Add(%m, %u)             "columns"
  %n = Conv(%x, %w)            "shared"
  %f = Add(%n, %t)             "one"
  %k = Neg(%n)                 "two"
}
-- out
graph g(%x: f32[N,3,8,4], %h: f32[N,5]) -> %a, %b, %c, %d, %e, %f, %k {
  %w: f32[4,3,1,1] = weight 0
  %t: f32[4,1,1]   = weight 1
  %u: f32[4]       = weight 2
  %v: f32[5,4]     = weight 3
  %bias: f32[4]    = weight 4
  %bias_2: f32[4]  = weight 5
  %bias_4: f32[4]  = weight 6
  %a: f32[N,4,8,4] = Conv(%x, %w, %bias)  "conv" from "conv", "bias"
  %b: f32[N,4,8,4] = Conv(%x, %w, %bias_2)  "biased" from "biased", "more"
  %c: f32[N,4]     = Gemm(%h, %v, %bias_4)  "gemm" from "gemm", "row"
  %s: f32[N,4]     = Gemm(%h, %v) {beta=0.5}  "half"
  %d: f32[N,4]     = Add(%s, %u)  "half_row"
  %m: f32[N,4,8,4] = Conv(%x, %w)  "pixels"
  %e: f32[N,4,8,4] = Add(%m, %u)  "columns"
  %n: f32[N,4,8,4] = Conv(%x, %w)  "shared"
  %f: f32[N,4,8,4] = Add(%n, %t)  "one"
  %k: f32[N,4,8,4] = Neg(%n)  "two"
}
