# A transpose goes through memory in blocks: a piece of lanes, and a block of lines under it.
-- args
print -O2 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[N,300,130]) -> %y { %y = Transpose(%x) {perm=[0,2,1]} "t" }
-- out
module g(%x) -> %y {
  N = dim 0 of %x
  %x: f32[N,300,130] = input
  %y: f32[N,130,300] = output
  kernel(%x, out %y)  "t"
kernel k0_t(N, data: f32[N*39000], transposed: out f32[N*39000]) flat "t" {
  for i0 in N @parallel
    for piece in 5 @parallel
      for block in 3 @parallel {
        let h0 = min(4, 18-piece*4)
        let h1 = i0*39000+piece*64+block*19200
        let h4 = i0*39000+piece*8320+block*64
        let h7 = 0 < min(64, 300-piece*64)%16
        let h8 = min(64, 300-piece*64)%16
        let h9 = i0*39000+(h0*16+piece*64)+block*19200
        let h11 = i0*39000+(h0*2080+piece*8320)+block*64
        for line in min(64, 130-block*64) {
          let h2 = h1+line*300
          let h5 = h4+line
          for v in h0 {
            let h3 = h2+v*16
            let h6 = h5+v*2080
            for lane in 16 @vector(i32x16)
              transposed[h3+lane] = data[h6+lane*130]
          }
          if (h7) {
            let h10 = h9+line*300
            let h12 = h11+line
            for lane_1 in h8 @vector(i32x16)
              transposed[h10+lane_1] = data[h12+lane_1*130]
          }
        }
      }
}
}
