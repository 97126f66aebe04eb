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
    f_0: f32[16] @reg(16) = 0
    f_1: f32[16] @reg(16) = 0
    f_2: f32[16] @reg(16) = 0
    f_3: f32[16] @reg(16) = 0
    let h0 = k*63
    let h1 = k*63063
    for k_1 in 63
      if (h0+k_1 < 997) {
        let h2 = h1+k_1*1001
        for v in 15 {
          let h3 = h2+v*64
          for k_2 in 16 @vector(i32x16)
            f_0[k_2] += x[h3+k_2]
          for k_2_1 in 16 @vector(i32x16)
            f_1[k_2_1] += x[h3+16+k_2_1]
          for k_2_2 in 16 @vector(i32x16)
            f_2[k_2_2] += x[h3+32+k_2_2]
          for k_2_3 in 16 @vector(i32x16)
            f_3[k_2_3] += x[h3+48+k_2_3]
        }
        for v_1 in 60..62 {
          let h4 = h2+v_1*16
          for k_2_4 in 16 @vector(i32x16)
            f_0[k_2_4] += x[h4+k_2_4]
        }
        for k_2_5 in 9 @vector(i32x16)
          f_0[k_2_5] += x[h2+992+k_2_5]
      }
    for k_2_6 in 16 @vector(i32x16)
      acc[] += f_0[k_2_6] + f_1[k_2_6] + f_2[k_2_6] + f_3[k_2_6]
    sum[k] = acc[]
  }
}
  kernel(%sum, out %s)  "sum"
kernel k1_sum(sum: f32[16], sum_1: out f32[1]) flat "sum" {
  acc: f32 @reg = 0
  f_0: f32[16] @reg(16) = 0
  for k in 16 @vector(i32x16)
    f_0[k] += sum[k]
  for k_1 in 16 @vector(i32x16)
    acc[] += f_0[k_1]
  sum_1[0] = acc[]
}
  kernel(%s, out %y)  "exp"
kernel k2_exp(x: f32[1], y: out f32[1]) flat "exp" {
  y[0] = exp(x[0])
}
}
