# A word that the operator does not know is not taken for another.
-- args
print -O0
-- in
graph g(%x: f32[1,1,4,4], %g: f32[1,2,2,2]) -> %y {
  %y = GridSample(%x, %g) {mode="bilinear"}
}
-- err
-:2: (GridSample): mode 'bilinear' is none of: linear nearest cubic
