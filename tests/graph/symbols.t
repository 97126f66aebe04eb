# Dims that depend on data get symbols, each with one definition; equal inputs share one.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,4], %y: f32[M,4], %k: i64[1], %s: i64[2]) -> %v, %z, %r {
  symbol N in 1..64
  %a = Add(%x, %y)
  %v, _ = TopK(%a, %k)
  %z = NonZero(%a)
  %r = Reshape(%a, %s)
}
-- out
graph g(%x: f32[N,4], %y: f32[N,4], %k: i64[1], %s: i64[2]) -> %v, %z, %r {
  symbol N in 1..64
  symbol E2 = %k[0]
  symbol D3 = dim(%z, 1)
  symbol E4 in -2147483647..2147483647 = %s[0]
  symbol E5 in -2147483647..2147483647 = %s[1]
  symbol R6 = E4 == -1 ? N*4/((E4 == 0 ? N : E4)*(E5 == 0 ? 4 : E5)*-1) : E4 == 0 ? N : E4
  symbol R7 = E5 == -1 ? N*4/((E4 == 0 ? N : E4)*(E5 == 0 ? 4 : E5)*-1) : E5 == 0 ? 4 : E5
  assume N*4 == R6*R7  "elements before and after"
  %a: f32[N,4]                   = Add(%x, %y)
  %v: f32[N,E2], %v_1: i64[N,E2] = TopK(%a, %k)
  %z: i64[2,D3]                  = NonZero(%a)
  %r: f32[R6,R7]                 = Reshape(%a, %s)
}
