# What a model says of itself: sums of products at usual sizes, weights by type.
-- args
inspect
-- in
graph net(%x: f32[N,3,8,8], %s: f32 ) -> %y {
  %w: f32[4,3,3,3] = weight 0
  %k: i64[2] = {0, -1}
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)  "relu"
  %f = Reshape(%r, %k)  "flat"
  %y = Mul(%f, %s)  "scaled"
}
-- out
model          stdin
SHA-256        3987878a886c306ba9ab379c04be3859fabd7aeedf14439d27e36acd27088ddc
size           230 B
at             N=1
multiply-adds  6912
input  type          default
x      f32[N,3,8,8]  
s      f32           
output  type
y       f32[N,256]
parameters     108
constants  tensors  elements  bytes
f32              1       108    432
i64              1         2     16
operator  nodes  multiply-adds
Conv          1           6912
Relu          1              0
Reshape       1              0
Mul           1              0
