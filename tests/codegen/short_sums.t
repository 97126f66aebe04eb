# Factors that 16 bits hold are multiplied as such and added at once: bytes, less a zero point too.
# One that is not negative stands first, or else the one that is the same for all lanes: the other
# is cut to 16 bits. u16 is too wide.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll,PlaceRegisters --c --target cpu:x86-64-v4
-- in
kernel bytes(N, X: u8[N,16], V: i8[N,16], W: i8[N,16], Z: u8[1], S: i16[N], U: u16[N,16], Y: out i32[4,16]) {
  for j in 16 @vector {
    acc: i32[4] @reg = 0
    for n in N {
      acc[0] += i32(W[n, j]) * i32(X[n, j])
      acc[1] += i32(V[n, j]) * i32(W[n, j])
      acc[2] += (i32(X[n, j]) - i32(Z[0])) * i32(S[n])
      acc[3] += i32(U[n, j]) * i32(W[n, j])
    }
    for i in 4 @unroll
      Y[i, j] = acc[i]
  }
}
-- has
acc_0 = tw_shortus_add_i32x16(acc_0, ((tw_i32x16)tw_load_u8x16(X + (n * 16))), ((tw_i32x16)tw_load_i8x16(W + (n * 16))));
acc_1 = tw_shortss_add_i32x16(acc_1, ((tw_i32x16)tw_load_i8x16(V + (n * 16))), ((tw_i32x16)tw_load_i8x16(W + (n * 16))));
acc_2 = tw_shortss_add_i32x16(acc_2, tw_set_i32x16(((tw_i32)S[n])), (((tw_i32x16)tw_load_u8x16(X + (n * 16))) - tw_set_i32x16(((tw_i32)Z[0]))));
acc_3 = (acc_3 + (((tw_i32x16)tw_load_u16x16(U + (n * 16))) * ((tw_i32x16)tw_load_i8x16(W + (n * 16)))));
