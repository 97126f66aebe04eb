# Integers are divided towards zero, and H-1 may be -1: the quotient is known all the same.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[H,8]) -> %y, %z {
  %i: i64[1] = {0}
  %one: i64[1] = {1}
  %four: i64[1] = {4}
  %s = Shape(%x)             "shape"
  %h = Gather(%s, %i)        "height"
  %b = Sub(%h, %one)         "before"
  %q = Div(%b, %four)        "quotient"
  %a = Add(%q, %one)         "after"
  %y = ConstantOfShape(%a)   "ones"
  %d = Sub(%h, %four)        "further below"
  %r = Mod(%d, %four) {fmod=1}  "rest"
  %k = Abs(%r)               "positive"
  %z = ConstantOfShape(%k)   "zeros"
}
-- out
graph g(%x: f32[H,8]) -> %y, %z {
  %i: i64[1]    = {0}
  %one: i64[1]  = {1}
  %four: i64[1] = {4}
  %s: i64[2]                   = Shape(%x)  "shape"
  %h: i64[1]                   = Gather(%s, %i)  "height"
  %b: i64[1]                   = Sub(%h, %one)  "before"
  %q: i64[1]                   = Div(%b, %four)  "quotient"
  %a: i64[1]                   = Add(%q, %one)  "after"
  %y: f32[max(0, (H+3)/4-1)+1] = ConstantOfShape(%a)  "ones"
  %d: i64[1]                   = Sub(%h, %four)  "further below"
  %r: i64[1]                   = Mod(%d, %four) {fmod=1}  "rest"
  %k: i64[1]                   = Abs(%r)  "positive"
  %z: f32[max(max(0, H/4-1)*4-H-max(0, H*-1/4+1)*4+4, H+max(0, H*-1/4+1)*4-max(0, H/4-1)*4-4)] = ConstantOfShape(%k)  "zeros"
}
