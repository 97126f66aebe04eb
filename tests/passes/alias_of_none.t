# It does not stand for the whole pipeline, either.
-- args
print -O3 --passes=ToBasicBlockNormalForm
-- in
graph g(%x: f32[N,4]) -> %y {
  %a = Identity(%x)
  %y = Relu(%a)
}
-- out
graph g(%x: f32[N,4]) -> %y {
  %a: f32[N,4] = Identity(%x)
  %y: f32[N,4] = Relu(%a)
}
