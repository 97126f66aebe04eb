# Rows that data chooses: no tile of them is a box of the argument, so none is turned.
-- args
print -O2 --no-vendor --schedule --target cpu:x86-64-v4
-- in
graph gathered(%x: f32[4,7,3,1], %i: i32[3]) -> %y {
  %g = Gather(%x, %i) {axis=0} "gather"
  %y = GlobalAveragePool(%g) "pool"
}
-- out
kernel k0_pool(vi: i32[3], vx: f32[4,7,3,1], mean: out f32[3,7]) "gather + pool" {
  for i0 in 3, i1 in 7 {
    sum: f32 @reg
    acc: f32 @reg = 0
    for k in 3
      acc[] += vx[at(i64(vi[i0]), 0..4, wrap, check), i1, k, 0]
    sum[] = acc[]
    mean[i0, i1] = sum[] / 3
  }
}
schedule {
  bind i0 @parallel
  bind i1 @vector
}
