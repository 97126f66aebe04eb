# What widens bf16 stands with who reads it, and does not join the group of a sum that a library stores
# as bf16.
-- args
print --passes=FuseOps
-- in
graph g(%x: bf16[1,16,8,8], %w: bf16[16,16,3,3]) -> %y {
  %c = Conv(%x, %w) "c"
  %f = Cast(%c) {to=1} "f"
  %r = Relu(%f) "r"
  %y = Neg(%r) "y"
}
-- out
graph g(%x: bf16[1,16,8,8], %w: bf16[16,16,3,3]) -> %y {
  %c: bf16[1,16,6,6] = Conv(%x, %w)  "c"
  %y: f32[1,16,6,6]  = fused(%c)  "y" from "f", "r", "y" {
    %f: f32[1,16,6,6] = Cast(%c) {to=1}  "f"
    %r: f32[1,16,6,6] = Relu(%f)  "r"
    %v: f32[1,16,6,6] = Neg(%r)  "y"
    yield %v
  }
}
