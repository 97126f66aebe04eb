# Which side is which: a constant less a product, a product less a constant, a constant by a product,
# which is no scale; a bias that is no constant is not scaled with the weights.
-- args
print --passes=SimplifyInference,DeadCodeElimination
-- in
graph g(%x: f32[1,2,4,4], %v: f32[2]) -> %a, %b, %c, %d {
  %w: f32[2,2,1,1] = weight 0
  %s: f32[2,1,1] = {2, 4}
  %p1 = Conv(%x, %w)
  %a = Sub(%s, %p1)      "s - product"
  %p2 = Conv(%x, %w)
  %m2 = Mul(%p2, %s)
  %b = Sub(%m2, %s)      "product - s"
  %p3 = Conv(%x, %w)
  %c = Div(%s, %p3)      "s / product"
  %p4 = Conv(%x, %w, %v)
  %d = Mul(%p4, %s)      "a bias that is given"
}
-- out
graph g(%x: f32[1,2,4,4], %v: f32[2]) -> %a, %b, %c, %d {
  %w: f32[2,2,1,1]   = weight 0
  %s: f32[2,1,1]     = {2, 4}
  %w_1: f32[2,2,1,1] = weight 2
  %shift: f32[2,1,1] = {2, 4}
  %w_3: f32[2,2,1,1] = weight 4
  %p1: f32[1,2,4,4] = Conv(%x, %w_1) from "s - product"
  %a: f32[1,2,4,4]  = Add(%p1, %shift)  "s - product"
  %p2: f32[1,2,4,4] = Conv(%x, %w_3)
  %b: f32[1,2,4,4]  = Sub(%p2, %s)  "product - s"
  %p3: f32[1,2,4,4] = Conv(%x, %w)
  %c: f32[1,2,4,4]  = Div(%s, %p3)  "s / product"
  %p4: f32[1,2,4,4] = Conv(%x, %w, %v)
  %d: f32[1,2,4,4]  = Mul(%p4, %s)  "a bias that is given"
}
