# A product in cache blocks: sums wait in scratch memory, panels of both operands are packed, and 16
# rows of a vector each stay in registers.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel k0_product(a: f32[512,512], b: f32[512,512], product: out f32[512,512]) "product" {
  for m in 512, n in 512 {
    acc: f32 @reg = 0
    for k in 512
      acc[] += a[m, k] * b[k, n]
    product[m, n] = acc[]
  }
}
schedule {
  split m 128 -> mo, mr
  split mr 16 -> mi, u
  split n 16 -> ni, v
  split k 256 -> ko, ki
  reorder mo, v, u, ni, mi
  bind mo @parallel
  fission mi acc @scratch -> mi_1
  fission ni acc @scratch -> ni_1
  fission u acc @scratch -> u_1
  fission v acc @scratch -> v_1
  reorder mi_init, ni_init, u_init, v_init
  reorder ko, ni, mi, v, ki, u
  reorder mi_1, u_1, ni_1, v_1
  cache_write acc at v @reg -> r
  pack b at ko b16a @scratch -> bp
  pack a at ko a16b @scratch -> ap
  bind v @vector
  bind u @unroll
  bind r_0 @unroll
  bind v_init @vector
  bind bp_2 @vector
  bind v_1 @vector
}
-- out
kernel k0_product(a: f32[512,512], b: f32[512,512], product: out f32[512,512]) "product" {
  for mo in 4 @parallel {
    acc: f32[8,32,16,16] @scratch
    for mi_init in 8, ni_init in 32, u_init in 16
      for v_init in 16 @vector
        acc[mi_init, ni_init, u_init, v_init] = 0
    for ko in 2 {
      ap: f32[8,256,16] @scratch
      for ap_0 in 8, ap_1 in 256, ap_2 in 16
        ap[ap_0, ap_1, ap_2] = a[ap_0*16+ap_2+mo*128, ap_1+ko*256]
      bp: f32[32,256,16] @scratch
      for bp_0 in 32, bp_1 in 256
        for bp_2 in 16 @vector
          bp[bp_0, bp_1, bp_2] = b[bp_1+ko*256, bp_0*16+bp_2]
      for ni in 32, mi in 8
        for v in 16 @vector {
          r: f32[16] @reg = 0
          for ki in 256
            for u in 16 @unroll
              r[u] += ap[mi, ki, u] * bp[ni, ki, v]
          for r_0 in 16 @unroll
            acc[mi, ni, r_0, v] += r[r_0]
        }
    }
    for mi_1 in 8, u_1 in 16, ni_1 in 32
      for v_1 in 16 @vector
        product[mi_1*16+mo*128+u_1, ni_1*16+v_1] = acc[mi_1, ni_1, u_1, v_1]
  }
}
