# Our own product reads a band in place, as the fallback kernel of a library's call does.
-- args
print --lower -O2 --target cpu:x86-64-v3 --no-vendor
-- in
graph t(%x: f32[2,70,32], %q: f32[2,4,32,1]) -> %y {
  %i: i64[4,3] = {0,2,4,1,3,5,2,4,6,3,5,7}
  %b: f32[2,4,3,32] = Gather(%x, %i) {axis=1}  "band"
  %y: f32[2,4,3,1] = MatMul(%b, %q)          "product"
}
-- has
  %b: f32[2,4,3,32] = view of %x + 0 strides[2240,32,64,1]
