# A dim that would grow with the model, twice as long at each step, gets a name.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N]) -> %y {
  %one: i64[1] = {1}
  %three: i64[1] = {3}
  %s = Shape(%x)
  %q0 = Div(%s, %three)
  %m0 = Mul(%q0, %q0)
  %s0 = Add(%m0, %one)
  %q1 = Div(%s0, %three)
  %m1 = Mul(%q1, %q1)
  %s1 = Add(%m1, %one)
  %q2 = Div(%s1, %three)
  %m2 = Mul(%q2, %q2)
  %s2 = Add(%m2, %one)
  %q3 = Div(%s2, %three)
  %m3 = Mul(%q3, %q3)
  %y = ConstantOfShape(%m3)
}
-- out
graph g(%x: f32[N]) -> %y {
  symbol S1 in 1..9223372036854775807 = ((N/3*(N/3)+1)/3*((N/3*(N/3)+1)/3)+1)/3*(((N/3*(N/3)+1)/3*((N/3*(N/3)+1)/3)+1)/3)+1
  %one: i64[1]   = {1}
  %three: i64[1] = {3}
  %s: i64[1]           = Shape(%x)
  %q0: i64[1]          = Div(%s, %three)
  %m0: i64[1]          = Mul(%q0, %q0)
  %s0: i64[1]          = Add(%m0, %one)
  %q1: i64[1]          = Div(%s0, %three)
  %m1: i64[1]          = Mul(%q1, %q1)
  %s1: i64[1]          = Add(%m1, %one)
  %q2: i64[1]          = Div(%s1, %three)
  %m2: i64[1]          = Mul(%q2, %q2)
  %s2: i64[1]          = Add(%m2, %one)
  %q3: i64[1]          = Div(%s2, %three)
  %m3: i64[1]          = Mul(%q3, %q3)
  %y: f32[S1/3*(S1/3)] = ConstantOfShape(%m3)
}
