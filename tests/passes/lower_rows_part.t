# The first stage reads places of a row that depend on K: what will be used of the next one is not
# known, though the other stage reads all of it, and nothing of %x is fetched.
-- args
print -O3 --schedule --target cpu:x86-64-v4
-- in
graph g(%x: f32[5,K], %s: i64[2]) -> %y {
  %e = Expand(%x, %s)           "e"
  %y = Concat(%e, %x) {axis=1}  "y"
}
-- out
kernel k0_y(K, X4, vx: f32[5,K], concat_result: out f32[5,K+X4]) "e + y" {
  for i0 in 5 {
    output: f32[X4] @scratch
    for i1 in X4
      output[i1] = vx[i0, at(i1%K, 0..K, check)]
    for i1_1 in K+X4
      concat_result[i0, i1_1] = i1_1 < X4 ? output[i1_1] : vx[i0, i1_1-X4]
  }
}
schedule {
  bind i0 @parallel
  fetch i0 concat_result 1 at i0
  bind i1_1 @vector
}
