# seed 1
# Matrices of which data says which one, turned: no box of the tensor is known that a tile of lines
# is.
graph g(%i: i64, %k: i64[3], %x: f32[B,32], %t: f32[4,40,48]) -> %y, %z, %m {
  %w: f32[4,32,32] = weight 0
  %g = Gather(%w, %i) {axis=0}
  %y = Transpose(%g) {perm=[1,0]}
  %z = MatMul(%x, %y)
  %h = Gather(%t, %k) {axis=0}
  %m = Transpose(%h) {perm=[0,2,1]}
}
