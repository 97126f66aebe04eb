# A product with cache blocks: sums in scratch memory, panels of both operands packed.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel mm(A: f32[48,64], B: f32[64,32], Y: out f32[48,32]) {
  for m in 48, n in 32 {
    acc: f32 @reg = 0
    for k in 64
      acc[] += A[m, k] * B[k, n]
    Y[m, n] = acc[]
  }
}
schedule {
  split m 24 -> mo, mr
  split mr 6 -> mi, u
  split n 16 -> ni, v
  split k 32 -> ko, ki
  reorder mo, v, u, ni, mi
  bind mo @parallel
  fission mi acc @scratch -> mi_1
  fission ni acc @scratch -> ni_1
  fission u acc @scratch -> u_1
  fission v acc @scratch -> v_1
  reorder ko, mi, ni, v, ki, u
  reorder mi_1, u_1, ni_1, v_1
  reorder mi_init, ni_init, u_init, v_init
  cache_write acc at v @reg -> r
  pack B at ko b16a @scratch -> Bp
  pack A at ko a6b @scratch -> Ap
  bind v @vector
  bind u @unroll
}
-- out
kernel mm(A: f32[48,64], B: f32[64,32], Y: out f32[48,32]) {
  for mo in 2 @parallel {
    acc: f32[4,2,6,16] @scratch
    for mi_init in 4, ni_init in 2, u_init in 6, v_init in 16
      acc[mi_init, ni_init, u_init, v_init] = 0
    for ko in 2 {
      Ap: f32[4,32,6] @scratch
      for Ap_0 in 4, Ap_1 in 32, Ap_2 in 6
        Ap[Ap_0, Ap_1, Ap_2] = A[Ap_0*6+Ap_2+mo*24, Ap_1+ko*32]
      Bp: f32[2,32,16] @scratch
      for Bp_0 in 2, Bp_1 in 32, Bp_2 in 16
        Bp[Bp_0, Bp_1, Bp_2] = B[Bp_1+ko*32, Bp_0*16+Bp_2]
      for mi in 4, ni in 2
        for v in 16 @vector {
          r: f32[6] @reg = 0
          for ki in 32
            for u in 6 @unroll
              r[u] += Ap[mi, ki, u] * Bp[ni, ki, v]
          for r_0 in 6
            acc[mi, ni, r_0, v] += r[r_0]
        }
    }
    for mi_1 in 4, u_1 in 6, ni_1 in 2, v_1 in 16
      Y[mi_1*6+mo*24+u_1, ni_1*16+v_1] = acc[mi_1, ni_1, u_1, v_1]
  }
}
