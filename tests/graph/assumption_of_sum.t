# A dim that begins with a parenthesis is one, too.
-- args
print
-- in
graph g(%x: f32[N,M], %k: f32[K]) -> %y {
  assume (N+M)/2 == K  "half of the sum"
  %y = Relu(%x)  "relu"
}
-- out
graph g(%x: f32[N,M], %k: f32[K]) -> %y {
  assume (M+N)/2 == K  "half of the sum"
  %y = Relu(%x)  "relu"
}
