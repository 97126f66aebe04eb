# Two that lie across rows are turned in one kernel: the second's name is none of the first's loops.
-- args
print -O3 --no-vendor --schedule --target cpu:x86-64-v4
-- in
graph two(%a: f32[320,200], %b: f32[320,200]) -> %y {
  %s = Sub(%a, %b) "sub"
  %y = Transpose(%s) {perm=[1,0]} "turn"
}
-- out
kernel k0_turn(va: f32[320,200], vb: f32[320,200], transposed: out f32[200,320]) "sub + turn" {
  for i0 in 200, i1 in 320
    transposed[i0, i1] = va[i1, i0] - vb[i1, i0]
}
schedule {
  split i0 16 -> block, line
  split i1 16 -> piece, lane
  reorder piece, block, line
  bind piece @parallel
  bind block @parallel
  bind lane @vector
  pack va at block ba @stack -> turned
  bind turned_1 @vector
  pack vb at block ba @stack -> turned1
  bind turned1_1 @vector
  fetch block va, vb, transposed 1 at block
}
