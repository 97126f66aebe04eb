# A band of every fourth place as a band of each phase, the row g2bmm: an emitted kernel.
-- args
derive --replay 'split_loop 0 1 4; converge 0'
-- in
expr f(Q: f32[2,22,5], K: f32[2,22,5]) -> Y {
  Y[b:2, m:22, w:7]: f32 = sum(k:5 where 0 <= m+4*w-12, m+4*w-12 < 22) Q[b, m, k] * K[b, m+4*w-12, k]
}
-- out
given:
expr f(Q: f32[2,22,5], K: f32[2,22,5]) -> Y {
  Y[i0:2, i1:22, i2:7]: f32 = sum(i3:5 where 0 <= 33-i1-i2*4, 0 <= i1+i2*4-12) Q[i0, i1, i3] * K[i0, i1+i2*4-12, i3]
}
split_loop 0 1 4:
expr f(Q: f32[2,22,5], K: f32[2,22,5]) -> Y_4 {
  Y[i0:2, i1:6, i2:4, i3:5]: f32 = 0 <= i1*4+i2-22 ? 0 : K[i0, i1*4+i2, i3]
  Y_2[i0:2, i1:6, i2:4, i3:5]: f32 = 0 <= i1*4+i2-22 ? 0 : Q[i0, i1*4+i2, i3]
  Y_3[i0:2, i1:6, i2:4, i3:7]: f32 = sum(i4:5 where 0 <= 8-i1-i3, 0 <= i1+i3-3) Y_2[i0, i1, i2, i4] * Y[i0, i1+i3-3, i2, i4]
  Y_4[i0:2, i1:22, i2:7]: f32 = Y_3[i0, i1/4, i1%4, i2]
}
converge 0:
expr f(Q: f32[2,22,5], K: f32[2,22,5]) -> Y_4 {
  Y[i0:2, i1:6, i2:4, i3:5]: f32 = 0 <= i1*4+i2-22 ? 0 : K[i0, i1*4+i2, i3]
  Y_2[i0:2, i1:6, i2:4, i3:5]: f32 = 0 <= i1*4+i2-22 ? 0 : Q[i0, i1*4+i2, i3]
  Y_3[i0:2, i1:6, i2:4, i3:7]: f32 = sum(i4:5 where 0 <= 8-i1-i3, 0 <= i1+i3-3) Y_2[i0, i1, i2, i4] * Y[i0, i1+i3-3, i2, i4]
  Y_4[i0:2, i1:22, i2:7]: f32 = Y_3[i0, i1/4, i1%4, i2]
}
