# One sum over everything: chunks that threads share, then the sum of the chunks.
-- args
print -O2 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[997,1001]) -> %y {
  %s = ReduceSum(%x) {keepdims=0} "sum"
  %y = Exp(%s) "exp"
}
-- out
module g(%x) -> %y {
  %x: f32[997,1001] = input
  %s: f32 = temp
  %sum: f32[16] = temp
  %y: f32 = output
  kernel(%x, out %sum)  "sum"
kernel k0_sum(x: f32[997997], sum: out f32[16]) flat "sum" {
  for k in 16 @parallel {
    acc: f32 @reg = 0
    for k_1 in 63
      for k_2 in 1001 @vector
        if (k*63+k_1 < 997)
          acc[] += x[k*63063+k_1*1001+k_2]
    sum[k] = acc[]
  }
}
  kernel(%sum, out %s)  "sum"
kernel k1_sum(sum: f32[16], sum_1: out f32[1]) flat "sum" {
  acc: f32 @reg = 0
  for k in 16 @vector
    acc[] += sum[k]
  sum_1[0] = acc[]
}
  kernel(%s, out %y)  "exp"
kernel k2_exp(x: f32[1], y: out f32[1]) flat "exp" {
  y[0] = exp(x[0])
}
}
