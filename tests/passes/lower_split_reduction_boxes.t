# A maximum beside a result that reads nothing. Only the dims of the other one would join, so they
# stay apart, also in the kernel that is made to see whether the reduction is worth splitting.
-- args
print -O2 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[8,16,K,K]) -> %p, %y {
  %no: bool             = {0}
  %c: f32               = {-0.5}
  %p: f32[8,16,K/2,K/2] = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}  "p"
  %y: f32[8,16,K/2,K/2] = Where(%no, %p, %c)  "y"
}
-- out
module g(%x) -> %p, %y {
  K = dim 2 of %x
  %x: f32[8,16,K,K] = input
  %p: f32[8,16,K/2,K/2] = output
  %y: f32[8,16,K/2,K/2] = output
  kernel(%x, out %p, out %y)  "y"
kernel k0_y(K, vx: f32[K*K*128], y: out f32[K/2*(K/2)*128], y_1: out f32[K/2*(K/2)*128]) flat "p + y" {
  for i0 in 8 @parallel
    for i1 in 16 @parallel
      for i2 in K/2 @parallel {
        let h0 = i0*(K*K*16)+i1*(K*K)+i2*(K*2)
        let h2 = K+i0*(K*K*16)+i1*(K*K)+i2*(K*2)
        let h4 = i0*(K/2*(K/2)*16)+i1*(K/2*(K/2))+i2*(K/2)
        for v in K/32 {
          let h1 = h0+v*32
          let h3 = h2+v*32
          let h5 = h4+v*16
          for i3 in 16 @vector(i32x16) {
            acc: f32 @reg = -inf
            acc[] max= vx[h1+i3*2]
            acc[] max= vx[h1+1+i3*2]
            acc[] max= vx[h3+i3*2]
            acc[] max= vx[h3+1+i3*2]
            y[h5+i3] = acc[]
            y_1[h5+i3] = -0.5
          }
        }
        if (0 < K/2%16) {
          let h6 = K/32*32+i0*(K*K*16)+i1*(K*K)+i2*(K*2)
          let h7 = K+K/32*32+i0*(K*K*16)+i1*(K*K)+i2*(K*2)
          let h8 = K/32*16+i0*(K/2*(K/2)*16)+i1*(K/2*(K/2))+i2*(K/2)
          for i3_1 in K/2%16 @vector(i32x16) {
            acc_1: f32 @reg = -inf
            acc_1[] max= vx[h6+i3_1*2]
            acc_1[] max= vx[h6+1+i3_1*2]
            acc_1[] max= vx[h7+i3_1*2]
            acc_1[] max= vx[h7+1+i3_1*2]
            y[h8+i3_1] = acc_1[]
            y_1[h8+i3_1] = -0.5
          }
        }
      }
}
}
