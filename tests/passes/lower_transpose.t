# A transpose goes through memory in tiles, which registers turn; those at the end are short.
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
    for piece in 19 @parallel
      for block in 9 @parallel {
        let h0 = i0*39000+piece*2080+block*16
        for data_line_1 in 16 {
          let h1 = h0+data_line_1*130
          for data_line_2 in 2
            fetch.near(data[h1+min(15, data_line_2*16)+16])
        }
        let h2 = i0*39000+piece*16+block*4800
        for transposed_line_1 in 16 {
          let h3 = h2+transposed_line_1*300
          for transposed_line_2 in 2
            fetch.near(transposed[h3+min(15, transposed_line_2*16)+4800])
        }
        turned: f32[256] @stack
        if (16 <= min(16, 300-piece*16)) {
          for turned_1 in min(16, 130-block*16) @turn
            for turned_2 in 16 @vector(i32x16)
              turned[turned_1*16+turned_2] = data[i0*39000+piece*2080+block*16+turned_1+turned_2*130]
          for line in min(16, 130-block*16) {
            let h4 = h2+line*300
            let h5 = line*16
            for lane in 16 @vector(i32x16)
              transposed[h4+lane] = turned[h5+lane]
          }
        }
        else {
          for turned_1_1 in min(16, 130-block*16) @turn
            for turned_2_1 in min(16, 300-piece*16) @vector(i32x16)
              turned[turned_1_1*16+turned_2_1] = data[i0*39000+piece*2080+block*16+turned_1_1+turned_2_1*130]
          let h6 = min(16, 300-piece*16)
          for line_1 in min(16, 130-block*16) {
            let h7 = h2+line_1*300
            let h8 = line_1*16
            for lane_1 in h6 @vector(i32x16)
              transposed[h7+lane_1] = turned[h8+lane_1]
          }
        }
      }
}
}
