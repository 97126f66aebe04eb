# What stands before a BERT that ONNX Runtime joined, and its quantised numbers of 16 bits.
-- args
print --passes=ExpandOperators
-- in
graph g(%i: i32[N,S], %m: i32[N,S], %x: f32[N,8]) -> %y, %n, %d {
  %w: f32[9,8] = weight 0
  %p: f32[6,8] = weight 1
  %b: f32[8] = weight 2
  %s: f32 = {0.5}
  %z: u16 = {9}
  %y, %n = com.microsoft.EmbedLayerNormalization(%i, _, %w, %p, _, %b, %b, %m) "embed"
  %q = com.microsoft.QuantizeLinear(%x, %s, %z) "quantise"
  %d = com.microsoft.DequantizeLinear(%q, %s, %z) "dequantise"
}
-- out
graph g(%i: i32[N,S], %m: i32[N,S], %x: f32[N,8]) -> %y, %n, %d {
  assume S == min(S, 6)  "dim 1 of the inputs"
  %w: f32[9,8]    = weight 0
  %p: f32[6,8]    = weight 1
  %b: f32[8]      = weight 2
  %s: f32         = {0.5}
  %z: u16         = {9}
  %step: i64[1]   = {0}
  %step_2: i64[1] = {0}
  %step_6: i32    = {1}
  %step_9: i64[1] = {1}
  %v: f32[N,S,8]         = Gather(%w, %i)  "embed"
  %v_1: i64[1]           = Shape(%i) {start=1}  "embed"
  %v_3: f32[min(S, 6),8] = Slice(%p, %step, %v_1, %step_2)  "embed"
  %v_4: f32[N,S,8]       = Add(%v, %v_3)  "embed"
  %y: f32[N,S,8]         = LayerNormalization(%v_4, %b, %b) {epsilon=1e-12}  "embed"
  %v_7: bool[N,S]        = Equal(%m, %step_6)  "embed"
  %v_8: i32[N,S]         = Cast(%v_7) {to=6}  "embed"
  %n: i32[N]             = ReduceSum(%v_8, %step_9) {keepdims=0}  "embed"
  %q: u16[N,8]           = QuantizeLinear(%x, %s, %z)  "quantise"
  %d: f32[N,8]           = DequantizeLinear(%q, %s, %z)  "dequantise"
}
