# Past keys and values of lengths with different names: the present ones are as long as each other.
-- args
print --passes=InferShapes
-- in
graph g(%q: f32[2,3,4,8], %k: f32[2,3,6,8], %v: f32[2,3,6,8], %pk: f32[2,3,P,8], %pv: f32[2,3,12,8]) -> %y, %nk, %nv {
  %y, %nk, %nv = Attention(%q, %k, %v, _, %pk, %pv)  "attention"
}
-- out
graph g(%q: f32[2,3,4,8], %k: f32[2,3,6,8], %v: f32[2,3,6,8], %pk: f32[2,3,12,8], %pv: f32[2,3,12,8]) -> %y, %nk, %nv {
  %y: f32[2,3,4,8], %nk: f32[2,3,18,8], %nv: f32[2,3,18,8] = Attention(%q, %k, %v, _, %pk, %pv)  "attention"
}
