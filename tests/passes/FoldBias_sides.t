# What is taken away is no bias, on neither side; nor is what runs along two dims.
-- args
print --passes=FoldBias,DeadCodeElimination
-- in
graph g(%x: f32[1,2,4,4]) -> %a, %b, %c {
  %w: f32[2,2,1,1] = weight 0
  %s: f32[2,1,1] = {2, 4}
  %t: f32[2,1,4] = weight 1
  %p1 = Conv(%x, %w)
  %a = Sub(%s, %p1)      "s - product"
  %p2 = Conv(%x, %w)
  %b = Sub(%p2, %s)      "product - s"
  %p3 = Conv(%x, %w)
  %c = Add(%p3, %t)      "along two dims"
}
-- out
graph g(%x: f32[1,2,4,4]) -> %a, %b, %c {
  %w: f32[2,2,1,1] = weight 0
  %s: f32[2,1,1]   = {2, 4}
  %t: f32[2,1,4]   = weight 2
  %p1: f32[1,2,4,4] = Conv(%x, %w)
  %a: f32[1,2,4,4]  = Sub(%s, %p1)  "s - product"
  %p2: f32[1,2,4,4] = Conv(%x, %w)
  %b: f32[1,2,4,4]  = Sub(%p2, %s)  "product - s"
  %p3: f32[1,2,4,4] = Conv(%x, %w)
  %c: f32[1,2,4,4]  = Add(%p3, %t)  "along two dims"
}
