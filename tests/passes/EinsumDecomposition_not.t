# What stays: a result in another order, no rows, a letter twice or summed in one operand, a term that is broadcast, other types, dims that Reshape cannot say.
-- args
print --passes=InferShapes,EinsumDecomposition,WidenHalves,DeadCodeElimination --verify=each --target=cpu:x86-64-v4
-- in
graph g(%p: f32[N,8,S,T], %v: f32[N,T,8,16], %a: f32[N,4,5], %b: f32[5,5], %c: f32[N,4,1], %i: i8[4,5], %s: f32[N,H,S,D], %t: f32[N,H,D,E], %j: f32[4,1,2], %k: f32[5,2,1]) -> %order, %rows, %twice, %alone, %one, %bytes, %open, %three, %joined {
  %order = Einsum(%p, %v) {equation="bhij,bjhd->bihd"}
  %rows = Einsum(%a, %a) {equation="bij,bij->b"}
  %twice = Einsum(%a, %b) {equation="bij,jj->bi"}
  %alone = Einsum(%a, %b) {equation="bij,jk->bk"}
  %one = Einsum(%a, %c) {equation="bij,bkj->bik"}
  %bytes = Einsum(%i, %i) {equation="ij,kj->ik"}
  %open = Einsum(%s, %t) {equation="bhsd,bhde->bse"}
  %three = Einsum(%a, %b, %b) {equation="bij,jk,kl->bil"}
  %joined = Einsum(%j, %k) {equation="ixy,kxy->ik"}
}
-- out
graph g(%p: f32[N,8,S,T], %v: f32[N,T,8,16], %a: f32[N,4,5], %b: f32[5,5], %c: f32[N,4,1], %i: i8[4,5], %s: f32[N,H,S,D], %t: f32[N,H,D,E], %j: f32[4,1,2], %k: f32[5,2,1]) -> %order, %rows, %twice, %alone, %one, %bytes, %open, %three, %joined {
  %order: f32[N,S,8,16] = Einsum(%p, %v) {equation="bhij,bjhd->bihd"}
  %rows: f32[N]         = Einsum(%a, %a) {equation="bij,bij->b"}
  %twice: f32[N,4]      = Einsum(%a, %b) {equation="bij,jj->bi"}
  %alone: f32[N,5]      = Einsum(%a, %b) {equation="bij,jk->bk"}
  %one: f32[N,4,4]      = Einsum(%a, %c) {equation="bij,bkj->bik"}
  %bytes: i8[4,4]       = Einsum(%i, %i) {equation="ij,kj->ik"}
  %open: f32[N,S,E]     = Einsum(%s, %t) {equation="bhsd,bhde->bse"}
  %three: f32[N,4,5]    = Einsum(%a, %b, %b) {equation="bij,jk,kl->bil"}
  %joined: f32[4,5]     = Einsum(%j, %k) {equation="ixy,kxy->ik"}
}
