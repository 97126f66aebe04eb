# For no machine, as optimize has none, products that would need a Transpose stay one node; a constant's is folded.
-- args
print --passes=InferShapes,EinsumDecomposition,FoldConstant,DeadCodeElimination --verify=each
-- in
graph g(%a: f32[N,4,5], %b: f32[N,5,6], %q: f32[N,S,8,16], %k: f32[N,T,8,16], %x: f32[N,S,3], %m: f32[7,5]) -> %plain, %scores, %weight, %left, %implicit, %rows {
  %c: f32[2,3] = {1, 2, 3, 4, 5, 6}
  %d: f32[4,3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
  %plain = Einsum(%a, %b) {equation="bij,bjk->bik"}
  %scores = Einsum(%q, %k) {equation="bihd,bjhd->bhij"}
  %weight = Einsum(%x, %c) {equation="bsi,oi->bso"}
  %left = Einsum(%d, %a) {equation="ij,bik->jbk"}
  %implicit = Einsum(%m, %m) {equation="ij,kj"}
  %rows = Einsum(%c, %m) {equation="ab,cd->abcd"}
}
-- out
graph g(%a: f32[N,4,5], %b: f32[N,5,6], %q: f32[N,S,8,16], %k: f32[N,T,8,16], %x: f32[N,S,3], %m: f32[7,5]) -> %plain, %scores, %weight, %left, %implicit, %rows {
  %c: f32[2,3]   = weight 0
  %d: f32[4,3]   = weight 1
  %v_2: f32[3,2] = weight 2
  %plain: f32[N,4,6]    = MatMul(%a, %b)
  %scores: f32[N,8,S,T] = Einsum(%q, %k) {equation="bihd,bjhd->bhij"}
  %weight: f32[N,S,2]   = MatMul(%x, %v_2)
  %left: f32[3,N,5]     = Einsum(%d, %a) {equation="ij,bik->jbk"}
  %implicit: f32[7,7]   = Einsum(%m, %m) {equation="ij,kj"}
  %rows: f32[2,3,7,5]   = Einsum(%c, %m) {equation="ab,cd->abcd"}
}
