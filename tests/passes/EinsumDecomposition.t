# Products as exporters name them: batches, rows, columns and terms, in whatever order the operands have them.
-- args
print --passes=InferShapes,EinsumDecomposition,WidenHalves --verify=each --target=cpu:x86-64-v4
-- in
graph g(%a: f32[N,4,5], %b: f32[N,5,6], %q: f32[N,S,8,16], %k: f32[N,T,8,16], %w: f32[8,16,32], %x: f32[N,S,32], %v: f32[32,8,16], %m: f32[7,5]) -> %plain, %scores, %out, %heads, %swapped, %implicit, %dots {
  %plain = Einsum(%a, %b) {equation="bij,bjk->bik"}
  %scores = Einsum(%q, %k) {equation="bihd,bjhd->bhij"}
  %out = Einsum(%q, %w) {equation="bihd,hdm->bim"}
  %heads = Einsum(%x, %v) {equation="bim,mhd->bihd"}
  %swapped = Einsum(%a, %b) {equation="bij,bjk->bki"}
  %implicit = Einsum(%m, %m) {equation="ij,kj"}
  %dots = Einsum(%b, %m) {equation="...ij,ki->...jk"}
}
-- out
graph g(%a: f32[N,4,5], %b: f32[N,5,6], %q: f32[N,S,8,16], %k: f32[N,T,8,16], %w: f32[8,16,32], %x: f32[N,S,32], %v: f32[32,8,16], %m: f32[7,5]) -> %plain, %scores, %out, %heads, %swapped, %implicit, %dots {
  %shape: i64[3]    = {0, 0, 128}
  %shape_6: i64[2]  = {128, 32}
  %shape_9: i64[2]  = {32, 128}
  %shape_12: i64[4] = {0, 0, 8, 16}
  %plain: f32[N,4,6]    = MatMul(%a, %b)
  %v_2: f32[N,8,S,16]   = Transpose(%q) {perm=[0,2,1,3]}
  %v_3: f32[N,8,16,T]   = Transpose(%k) {perm=[0,2,3,1]}
  %scores: f32[N,8,S,T] = MatMul(%v_2, %v_3)
  %v_5: f32[N,S,128]    = Reshape(%q, %shape)
  %v_7: f32[128,32]     = Reshape(%w, %shape_6)
  %out: f32[N,S,32]     = MatMul(%v_5, %v_7)
  %v_10: f32[32,128]    = Reshape(%v, %shape_9)
  %v_11: f32[N,S,128]   = MatMul(%x, %v_10)
  %heads: f32[N,S,8,16] = Reshape(%v_11, %shape_12)
  %v_14: f32[N,6,5]     = Transpose(%b) {perm=[0,2,1]}
  %v_15: f32[N,5,4]     = Transpose(%a) {perm=[0,2,1]}
  %swapped: f32[N,6,4]  = MatMul(%v_14, %v_15)
  %v_17: f32[5,7]       = Transpose(%m) {perm=[1,0]}
  %implicit: f32[7,7]   = MatMul(%m, %v_17)
  %v_19: f32[N,6,5]     = Transpose(%b) {perm=[0,2,1]}
  %v_20: f32[5,7]       = Transpose(%m) {perm=[1,0]}
  %dots: f32[N,6,7]     = MatMul(%v_19, %v_20)
}
