# The sum of squares of a norm is no product of two things: the norm is one group with what stands
# before it and behind it.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[128,768], %z: f32[128,768], %g: f32[768], %b: f32[768]) -> %y {
  %a = Add(%x, %z) "a"
  %n = LayerNormalization(%a, %g, %b) "n"
  %y = Tanh(%n) "y"
}
-- out
graph g(%x: f32[128,768], %z: f32[128,768], %g: f32[768], %b: f32[768]) -> %y {
  %y: f32[128,768] = fused(%x, %z, %g, %b)  "y" from "a", "n", "y" {
    %a: f32[128,768] = Add(%x, %z)  "a"
    %n: f32[128,768] = LayerNormalization(%a, %g, %b)  "n"
    %v: f32[128,768] = Tanh(%n)  "y"
    yield %v
  }
}
