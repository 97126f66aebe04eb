# The first rows of a product stand behind another one: the product is longer than the room that is
# left in the result, so it is computed apart.
-- args
print -O3 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[8,5], %w: f32[5,6], %v: f32[5,6]) -> %o {
  %begin: i64[1] = {0}
  %end: i64[1] = {3}
  %m = MatMul(%x, %w)  "m"
  %n = MatMul(%x, %v)  "n"
  %s = Slice(%m, %begin, %end, %begin)  "s"
  %o = Concat(%n, %s) {axis=0}  "o"
}
-- has
  %m: f32[8,6] = temp
  %n: f32[8,6] = temp
    let h1 = i0 < 8
      concat_result[h0+i1] = h1 ? vn[h0+i1] : vm[h0-48+i1]
