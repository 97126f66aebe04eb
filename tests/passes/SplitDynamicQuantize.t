# The range is a node, and what quantises element by element another; a range alone stays as it is.
-- args
print --passes=SplitDynamicQuantize
-- in
graph g(%x: f32[4,N]) -> %q, %s, %z, %t {
  %q, %s, %z = DynamicQuantizeLinear(%x) "quantise"
  _, %t, %u = DynamicQuantizeLinear(%x) "range"
}
-- out
graph g(%x: f32[4,N]) -> %q, %s, %z, %t {
  _, %s: f32, %z: u8 = DynamicQuantizeLinear(%x)  "quantise"
  %q: u8[4,N]        = QuantizeLinear(%x, %s, %z)  "quantise"
  _, %t: f32, %u: u8 = DynamicQuantizeLinear(%x)  "range"
}
