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
      for block in 3 @parallel
        for line in min(64, 130-block*64) {
          for v in min(64, 300-piece*64)/16
            for lane in 16 @vector(i32x16)
              transposed[i0*39000+piece*64+block*19200+line*300+v*16+lane] = data[i0*39000+piece*8320+block*64+line+v*2080+lane*130]
          if (0 < min(64, 300-piece*64)%16)
            for lane_1 in min(64, 300-piece*64)%16 @vector(i32x16)
              transposed[i0*39000+min(64, 300-piece*64)/16*16+piece*64+block*19200+line*300+lane_1] = data[i0*39000+min(64, 300-piece*64)/16*2080+piece*8320+block*64+line+lane_1*130]
        }
}
}
