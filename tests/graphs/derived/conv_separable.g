# Two pairs of convolutions along one axis each, as two products in a batch of two.
graph conv_separable(%x: f32[1,3,5,5]) -> %y, %z {
  %a: f32[2,3,3,1] = weight 0
  %b: f32[2,3,1,3] = weight 1
  %c: f32[2,2,1,3] = weight 2
  %d: f32[2,2,3,1] = weight 3
  %p = Conv(%x, %a) {pads=[1,0,1,0]}
  %p2 = Conv(%p, %c) {pads=[0,1,0,1]}
  %q = Conv(%x, %b) {pads=[0,1,0,1]}
  %q2 = Conv(%q, %d) {pads=[1,0,1,0]}
  %y = Add(%p2, %q2)
  %z = Expression(%x, %a, %b, %c, %d) {expr="expr batch(X: f32[1,3,5,5], A: f32[2,3,3,1], B: f32[2,3,1,3], C: f32[2,2,1,3], D: f32[2,2,3,1]) -> Y {\n  K[e:2, t:3, f:2, c:3]: f32 = e == 0 ? A[f, c, t, 0] : B[f, c, 0, t]\n  T[h:5, w:5, e:2, t:3, f:2]: f32 = sum(c:3) X[0, c, h, w] * K[e, t, f, c]\n  Z0[h:5, w:5, f:2]: f32 = sum(t:3 where 0 <= h+t-1, h+t-1 < 5) T[h+t-1, w, 0, t, f]\n  Z1[h:5, w:5, f:2]: f32 = sum(t:3 where 0 <= w+t-1, w+t-1 < 5) T[h, w+t-1, 1, t, f]\n  Z[e:2, h:5, w:5, f:2]: f32 = e == 0 ? Z0[h, w, f] : Z1[h, w, f]\n  V[e:2, t:3, g:2, f:2]: f32 = e == 0 ? C[g, f, 0, t] : D[g, f, t, 0]\n  S[e:2, h:5, w:5, t:3, g:2]: f32 = sum(f:2) Z[e, h, w, f] * V[e, t, g, f]\n  P[g:2, h:5, w:5]: f32 = sum(t:3 where 0 <= w+t-1, w+t-1 < 5) S[0, h, w+t-1, t, g]\n  Q[g:2, h:5, w:5]: f32 = sum(t:3 where 0 <= h+t-1, h+t-1 < 5) S[1, h+t-1, w, t, g]\n  Y[n:1, g:2, h:5, w:5]: f32 = P[g, h, w] + Q[g, h, w]\n}\n"}  "derived"
}
