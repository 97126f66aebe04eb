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
      for v in min(32, 37-piece*32) {
        let h0 = v*16
        for lane_init in 16 @vector(i32x16)
          acc[h0+lane_init] = 0
      }
      if (0 < min(512, 600-piece*512)%16) {
        let h1 = min(32, 37-piece*32)*16
        for lane_init_1 in min(512, 600-piece*512)%16 @vector(i32x16)
          acc[h1+lane_init_1] = 0
      }
      let h2 = min(32, 37-piece*32)
      let h4 = i0*12000+piece*512
      let h7 = 0 < min(512, 600-piece*512)%16
      let h8 = min(512, 600-piece*512)%16
      let h9 = h2*16
      let h10 = i0*12000+(h9+piece*512)
      for k in 20 {
        let h5 = h4+k*600
        for v_1 in h2 {
          let h3 = v_1*16
          let h6 = h5+h3
          for lane in 16 @vector(i32x16)
            acc[h3+lane] += vx[h6+lane]
        }
        if (h7) {
          let h11 = h10+k*600
          for lane_1 in h8 @vector(i32x16)
            acc[h9+lane_1] += vx[h11+lane_1]
        }
      }
      for v_2 in min(32, 37-piece*32) {
        let h12 = v_2*16
        for lane_2 in 16 @vector(i32x16)
          sum[h12+lane_2] = acc[h12+lane_2]
      }
      if (0 < min(512, 600-piece*512)%16)
        for lane_2_1 in min(512, 600-piece*512)%16 @vector(i32x16)
          sum[h9+lane_2_1] = acc[h9+lane_2_1]
      let h13 = i0*600+piece*512
      for v_3 in min(32, 37-piece*32) {
        let h14 = h13+v_3*16
        let h15 = v_3*16
        for lane_1_1 in 16 @vector(i32x16)
          y[h14+lane_1_1] = exp(sum[h15+lane_1_1])
      }
      if (0 < min(512, 600-piece*512)%16) {
        let h16 = i0*600+(h9+piece*512)
        for lane_1_2 in min(512, 600-piece*512)%16 @vector(i32x16)
          y[h16+lane_1_2] = exp(sum[h9+lane_1_2])
      }
    }
}
}
