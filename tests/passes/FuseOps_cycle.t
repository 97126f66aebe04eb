# The sum joins the second convolution; in the group of the first it would make a cycle.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,4,8,8]) -> %y {
  %w: f32[4,4,3,3] = weight 0
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "first"
  %d = Conv(%c, %w) {pads=[1,1,1,1]}  "second"
  %y = Add(%c, %d)                    "sum"
}
-- out
graph g(%x: f32[N,4,8,8]) -> %y {
  %w: f32[4,4,3,3] = weight 0
  %c: f32[N,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]}  "first"
  %y: f32[N,4,8,8] = fused(%c, %w)  "sum" from "second", "sum" {
    %d: f32[N,4,8,8] = Conv(%c, %w) {pads=[1,1,1,1]}  "second"
    %v: f32[N,4,8,8] = Add(%c, %d)  "sum"
    yield %v
  }
}
