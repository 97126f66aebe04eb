# Printed and read again; nodes inside of groups and branches see the dims of their own inputs.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[7], %b: bool) -> %y {
  %y = If(%b)  "if" then_branch {
    %t = Expression(%x) {expr="expr back(X: f32[N]) -> Y {\n  Y[n:N]: f32 = X[N-1-n]\n}\n"}
    yield %t
  } else_branch {
    %f = fused(%x) {
      %p = Expression(%x) {expr="expr ends(X: f32[N]) -> Y {\n  Y[n:N+2]: f32 = X[n-1] else 0\n}\n"}
      %q = Expression(%p) {expr="expr inner(X: f32[N+2]) -> Y {\n  Y[n:N]: f32 = X[n+1]\n}\n"}
      yield %q
    }
    yield %f
  }
}
-- out
graph g(%x: f32[7], %b: bool) -> %y {
  %y: f32[7] = If(%b)  "if" then_branch uses %x {
    %t: f32[7] = Expression(%x) {expr="expr back(X: f32[N]) -> Y {\n  Y[n:N]: f32 = X[N-1-n]\n}\n"}
    yield %t
  } else_branch uses %x {
    %f: f32[7] = fused(%x) {
      %p: f32[9] = Expression(%x) {expr="expr ends(X: f32[N]) -> Y {\n  Y[n:N+2]: f32 = X[n-1] else 0\n}\n"}
      %q: f32[7] = Expression(%p) {expr="expr inner(X: f32[N+2]) -> Y {\n  Y[n:N]: f32 = X[n+1]\n}\n"}
      yield %q
    }
    yield %f
  }
}
