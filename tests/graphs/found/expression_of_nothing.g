# A dim of 0 was taken for one that stays, where an expression became standard operators.
graph random(%x: f32[1,0,7]) -> %v_28 {
  %c_19: i64[1] = {1}
  %c_21: i64[1] = {-1}
  %v    = Expression(%x) {expr="expr f(X: f32[A0,A1,7]) -> Y { Y[a0:A0, a1:A1, p:5]: f32 = sum(r:1 where 0 <= 3*p+1*r-1, 3*p+1*r-1 < 7) X[a0, a1, 3*p+1*r-1] }"}
  %v_20 = Unsqueeze(%v, %c_19)
  %v_28 = Reshape(%v_20, %c_21)
}
