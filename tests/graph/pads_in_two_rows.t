# Pads as an exporter computes them: pairs per axis from the last on, reversed and turned. Integers
# stay known through tensors of rank 2.
-- args
print -O0
-- in
graph g(%x: f32[1,3,H,16]) -> %y {
  %head: i64[3] = {0, 5, 1}
  %tail: i64[4] = {0, 0, 0, 0}
  %rows: i64[2] = {-1, 2}
  %last: i64[1] = {-1}
  %far: i64[1] = {-9223372036854775807}
  %zero: i64[1] = {0}
  %seven: i64[1] = {7}
  %height = Shape(%x) {start=2, end=3}
  %rest = Mod(%height, %seven)
  %below = Sub(%seven, %rest)
  %all = Concat(%head, %below, %tail) {axis=0}
  %table = Reshape(%all, %rows)
  %turned = Slice(%table, %last, %far, %zero, %last)
  %flip = Transpose(%turned) {perm=[1,0]}
  %pads = Reshape(%flip, %last)
  %y = Pad(%x, %pads)
}
-- has
  %pads: i64[8]           = Reshape
  %y: f32[1,3,H-H%7+8,21] = Pad
