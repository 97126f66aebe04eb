# A reduction down the columns: its loop stands outside the lanes, over a tile of accumulators.
-- args
print -O2 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[N,20,600]) -> %y {
  %a: i64[1] = {1}
  %s = ReduceSum(%x, %a) {keepdims=0} "sum"
  %y = Exp(%s) "exp"
}
-- out
module g(%x) -> %y {
  N = dim 0 of %x
  %x: f32[N,20,600] = input
  %y: f32[N,600] = output
  kernel(%x, out %y)  "exp"
kernel k0_exp(N, vx: f32[N*12000], y: out f32[N*600]) flat "sum + exp" {
  for i0 in N @parallel
    for piece in 2 @parallel {
      sum: f32[512] @stack
      acc: f32[512] @stack
      for lane_init in min(512, 600-piece*512) @vector
        acc[lane_init] = 0
      for k in 20
        for lane in min(512, 600-piece*512) @vector
          acc[lane] += vx[i0*12000+k*600+lane+piece*512]
      for lane_2 in min(512, 600-piece*512) @vector
        sum[lane_2] = acc[lane_2]
      for lane_1 in min(512, 600-piece*512) @vector
        y[i0*600+lane_1+piece*512] = exp(sum[lane_1])
    }
}
}
