# A state that grows has a symbol inside the body and another outside; scans are stacked.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,4]) -> %s, %f, %a {
  %m: i64 = {5}
  %yes: bool = {1}
  %s, %f, %a = Loop(%m, %yes, %x, %x)  "loop" body(%i, %c, %g, %h) {
    %j = Concat(%g, %x) {axis=0}
    %k = Neg(%h)
    yield %c, %j, %k, %h
  }
}
-- out
graph g(%x: f32[N,4]) -> %s, %f, %a {
  symbol D1 = dim(%g, 0)
  symbol D2 = dim(%s, 0)
  %m: i64    = {5}
  %yes: bool = {1}
  %s: f32[D2,4], %f: f32[N,4], %a: f32[5,N,4] = Loop(%m, %yes, %x, %x)  "loop" body(%i: i64, %c: bool, %g: f32[D1,4], %h: f32[N,4]) uses %x {
    %j: f32[D1+N,4] = Concat(%g, %x) {axis=0}
    %k: f32[N,4]    = Neg(%h)
    yield %c, %j, %k, %h
  }
}
