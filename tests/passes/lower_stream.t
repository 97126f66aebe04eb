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
      for v in min(512, 600-piece*512)/16
        for lane_init in 16 @vector(i32x16)
          acc[v*16+lane_init] = 0
      if (0 < min(512, 600-piece*512)%16)
        for lane_init_1 in min(512, 600-piece*512)%16 @vector(i32x16)
          acc[min(512, 600-piece*512)/16*16+lane_init_1] = 0
      for k in 20 {
        for v_1 in min(512, 600-piece*512)/16
          for lane in 16 @vector(i32x16)
            acc[v_1*16+lane] += vx[i0*12000+piece*512+k*600+v_1*16+lane]
        if (0 < min(512, 600-piece*512)%16)
          for lane_1 in min(512, 600-piece*512)%16 @vector(i32x16)
            acc[min(512, 600-piece*512)/16*16+lane_1] += vx[i0*12000+min(512, 600-piece*512)/16*16+piece*512+k*600+lane_1]
      }
      for v_2 in min(512, 600-piece*512)/16
        for lane_2 in 16 @vector(i32x16)
          sum[v_2*16+lane_2] = acc[v_2*16+lane_2]
      if (0 < min(512, 600-piece*512)%16)
        for lane_2_1 in min(512, 600-piece*512)%16 @vector(i32x16)
          sum[min(512, 600-piece*512)/16*16+lane_2_1] = acc[min(512, 600-piece*512)/16*16+lane_2_1]
      for v_3 in min(512, 600-piece*512)/16
        for lane_1_1 in 16 @vector(i32x16)
          y[i0*600+piece*512+v_3*16+lane_1_1] = exp(sum[v_3*16+lane_1_1])
      if (0 < min(512, 600-piece*512)%16)
        for lane_1_2 in min(512, 600-piece*512)%16 @vector(i32x16)
          y[i0*600+min(512, 600-piece*512)/16*16+piece*512+lane_1_2] = exp(sum[min(512, 600-piece*512)/16*16+lane_1_2])
    }
}
}
