# Eight rows of sixteen columns are one tile of registers, so one piece: the sum is cut, too.
-- args
print -O2 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[8,65536], %w: f32[65536,16]) -> %y {
  %y = MatMul(%x, %w) "product"
}
-- has
kernel k0_product(
for k in 16 @parallel
kernel k1_product(
