# A loop's body has symbols of its own too, and the states come in by these.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N], %y: f32[M], %n: i64) -> %s, %a {
  %s, %a = Loop(%n, _, %x)  "loop" body(%i, %c, %g) {
    %j = Add(%g, %y)  "add"
    yield %c, %j, %j
  }
}
-- out
graph g(%x: f32[N], %y: f32[M], %n: i64) -> %s, %a {
  symbol D2 = dim(%a, 0)
  %s: f32[N], %a: f32[D2,N] = Loop(%n, _, %x)  "loop" body(%i: i64, %c: bool, %g: f32[N_3]) uses %y {
    symbol N_3 = N
    symbol M_4 = M
    assume N_3 == M_4  "dim 0 of the inputs"
    %y_1: f32[M_4] = Enter(%y)
    %j: f32[N_3]   = Add(%g, %y_1)  "add"
    yield %c, %j, %j
  }
}
