# Tensors of one extent are broadcast into the parts of a concatenation: they are read, and written
# nowhere, so neither can live in the result.
-- args
print -O3 --lower --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[B,1], %y: f32[1,S]) -> %o {
  %axis: i64[1] = {2}
  %m = Max(%x, %y)  "m"
  %shape = Shape(%m)  "shape"
  %ex = Expand(%x, %shape)  "ex"
  %ey = Expand(%y, %shape)  "ey"
  %ux = Unsqueeze(%ex, %axis)  "ux"
  %uy = Unsqueeze(%ey, %axis)  "uy"
  %o = Concat(%ux, %uy) {axis=2}  "o"
}
-- has
  %uy: f32[B,S,1] = temp
  %o: f32[B,S,2] = output
        concat_result[h0+i2] = i2 < 1 ? vx[i0] : vuy[h1]
