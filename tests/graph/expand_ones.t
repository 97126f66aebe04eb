# Either side of Expand may be 1, which is only known when run; a number other than 1 is what comes out.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,M,K], %y: f32[P,M,5]) -> %r, %q {
  %s = Shape(%y)
  %r = Expand(%x, %s)
  %five: i64[3] = {5, 5, 1}
  %q = Expand(%x, %five)
}
-- out
graph g(%x: f32[N,M,K], %y: f32[P,M,5]) -> %r, %q {
  symbol X4 = N == 1 ? P : N
  symbol X5 = P == 1 ? X4 : P
  symbol X6 = K == 1 ? 5 : K
  symbol X7 = N == 1 ? 5 : N
  symbol X8 = M == 1 ? 5 : M
  assume X5 == X4  "the input's dim and the shape's"
  assume X6 == 5  "the input's dim and the shape's"
  assume X7 == 5  "the input's dim and the shape's"
  assume X8 == 5  "the input's dim and the shape's"
  %five: i64[3] = {5, 5, 1}
  %s: i64[3]      = Shape(%y)
  %r: f32[X4,M,5] = Expand(%x, %s)
  %q: f32[5,5,K]  = Expand(%x, %five)
}
