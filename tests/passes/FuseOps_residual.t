# A sum of bf16 that is added to f32 is stored as f32, as its residual is; so is a result.
-- args
print --passes=FuseOps
-- in
graph g(%x: bf16[8,16], %w: bf16[16,16], %r: f32[8,16], %b: f32[16]) -> %y, %z, %t {
  %p = MatMul(%x, %w) "p"
  %f = Cast(%p) {to=1} "f"
  %y = Add(%r, %f) "y"
  %q = MatMul(%x, %w) "q"
  %z = Cast(%q) {to=1} "z"
  %u = MatMul(%x, %w) "u"
  %v = Cast(%u) {to=1} "v"
  %t = Add(%b, %v) "t"
}
-- out
graph g(%x: bf16[8,16], %w: bf16[16,16], %r: f32[8,16], %b: f32[16]) -> %y, %z, %t {
  %y: f32[8,16]  = fused(%x, %w, %r)  "y" from "p", "f", "y" {
    %p: bf16[8,16]  = MatMul(%x, %w)  "p"
    %f: f32[8,16]   = Cast(%p) {to=1}  "f"
    %v_1: f32[8,16] = Add(%r, %f)  "y"
    yield %v_1
  }
  %z: f32[8,16]  = fused(%x, %w)  "z" from "q", "z" {
    %q: bf16[8,16]  = MatMul(%x, %w)  "q"
    %v_2: f32[8,16] = Cast(%q) {to=1}  "z"
    yield %v_2
  }
  %u: bf16[8,16] = MatMul(%x, %w)  "u"
  %t: f32[8,16]  = fused(%u, %b)  "t" from "v", "t" {
    %v: f32[8,16]   = Cast(%u) {to=1}  "v"
    %v_3: f32[8,16] = Add(%b, %v)  "t"
    yield %v_3
  }
}
