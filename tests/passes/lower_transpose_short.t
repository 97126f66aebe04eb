# With vectors of 8 lanes, a piece of what no 16 divide is one vector.
-- args
print -O3 --no-vendor --schedule --target cpu:x86-64-v3
-- in
graph g(%x: f32[51,40]) -> %y { %y = Transpose(%x) {perm=[1,0]} "t" }
-- out
kernel k0_t(data: f32[51,40], transposed: out f32[40,51]) "t" {
  for i0 in 40, i1 in 51
    transposed[i0, i1] = data[i1, i0]
}
schedule {
  split i0 16 -> block, line
  split i1 8 -> piece, lane
  reorder piece, block, line
  bind piece @parallel
  bind block @parallel
  bind lane @vector
  pack data at block ba @stack -> turned
  bind turned_1 @vector
  fetch block data, transposed 1 at block
}
