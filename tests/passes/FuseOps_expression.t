# What a program computes decides, not its operator: a product takes its bias and activation, and
# what is computed element by element joins others.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,16], %b: f32[4]) -> %z, %s {
  %w: f32[16,4] = weight 0
  %e = Expression(%x, %w) {expr="expr f(A: f32[N,C], W: f32[C,D]) -> Y {\n  Y[n:N, d:D]: f32 = sum(c:C) A[n, c]*W[c, d]\n}\n"}  "product"
  %a = Add(%e, %b)     "bias"
  %z = Expression(%a) {expr="expr f(A: f32[N,D]) -> Y {\n  Y[n:N, d:D]: f32 = max(A[n, d], 0)\n}\n"}  "relu"
  %n = Neg(%x)         "neg"
  %s = Expression(%n) {expr="expr f(A: f32[N,D]) -> Y {\n  Y[n:N, d:D]: f32 = A[n, d]*A[n, d]\n}\n"}  "square"
}
-- out
graph g(%x: f32[N,16], %b: f32[4]) -> %z, %s {
  %w: f32[16,4] = weight 0
  %z: f32[N,4]  = fused(%x, %w, %b)  "relu" from "product", "bias", "relu" {
    %e: f32[N,4] = Expression(%x, %w) {expr="expr f(A: f32[N,C], W: f32[C,D]) -> Y {\n  Y[n:N, d:D]: f32 = sum(c:C) A[n, c]*W[c, d]\n}\n"}  "product"
    %a: f32[N,4] = Add(%e, %b)  "bias"
    %v: f32[N,4] = Expression(%a) {expr="expr f(A: f32[N,D]) -> Y {\n  Y[n:N, d:D]: f32 = max(A[n, d], 0)\n}\n"}  "relu"
    yield %v
  }
  %s: f32[N,16] = fused(%x)  "square" from "neg", "square" {
    %n: f32[N,16]   = Neg(%x)  "neg"
    %v_1: f32[N,16] = Expression(%n) {expr="expr f(A: f32[N,D]) -> Y {\n  Y[n:N, d:D]: f32 = A[n, d]*A[n, d]\n}\n"}  "square"
    yield %v_1
  }
}
