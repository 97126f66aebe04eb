# A window of 1x1 convolution's results: weights are multiplied first, and the bias is summed where the window has it.
-- args
derive -q --replay 'associate 1 0 0'
-- in
expr f(X: f32[7,9], V: f32[20,7], b: f32[20], W: f32[4,20,3]) -> Y {
  T[k:20, h:9] = sum(c:7) V[k,c]*X[c,h]
  U[k:20, h:9] = T[k,h] + b[k]
  Y[f:4, h:9] = sum(k:20, r:3 where 0 <= h+r-1, h+r-1 < 9) W[f,k,r]*U[k,h+r-1]
}
-- out
given:
expr f(X: f32[7,9], V: f32[20,7], b: f32[20], W: f32[4,20,3]) -> Y {
  T[i0:20, i1:9]: f32 = sum(i2:7) X[i2, i1] * V[i0, i2]
  Y[i0:4, i1:9]: f32 = sum(i2:3, i3:20 where 0 <= 9-i1-i2, 0 <= i1+i2-1) (T[i3, i1+i2-1] + b[i3]) * W[i0, i3, i2]
}
associate 1 0 0:
expr f(X: f32[7,9], V: f32[20,7], b: f32[20], W: f32[4,20,3]) -> Y_4 {
  Y[i0:4, i1:3, i2:7]: f32 = sum(i3:20) V[i3, i2] * W[i0, i3, i1]
  Y_2[i0:4, i1:9]: f32 = sum(i2:3, i3:7 where 0 <= 9-i1-i2, 0 <= i1+i2-1) Y[i0, i2, i3] * X[i3, i1+i2-1]
  Y_3[i0:4, i1:9]: f32 = sum(i2:3, i3:20 where 0 <= 9-i1-i2, 0 <= i1+i2-1) W[i0, i3, i2] * b[i3]
  Y_4[i0:4, i1:9]: f32 = Y_3[i0, i1] + Y_2[i0, i1]
}
