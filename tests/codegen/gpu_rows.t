# A softmax is one kernel: a block has a row.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[64,2000]) -> %y {
  %y = Softmax(%x) "soft"
}
-- out
kernel k0_soft(input: f32[64,2000], y: out f32[64,2000]) "soft" {
  for i0 in 64 {
    max: f32 @reg
    e: f32[2000] @stack
    sum: f32 @reg
    acc: f32 @reg = -inf
    for k in 2000
      acc[] max= input[i0, k]
    max[] = acc[]
    for i1 in 2000
      e[i1] = exp(input[i0, i1] - max[])
    acc_1: f32 @reg = 0
    for k_1 in 2000
      acc_1[] += e[k_1]
    sum[] = acc_1[]
    for i1_1 in 2000
      y[i0, i1_1] = e[i1_1] / sum[]
  }
}
schedule {
  split k 4 -> piece, v
  bind v @vector
  split i1 4 -> piece_1, v_1
  bind v_1 @vector
  split k_1 4 -> piece_2, v_2
  bind v_2 @vector
  split i1_1 4 -> piece_3, v_3
  bind v_3 @vector
  bind i0 @block.x
  spread piece, piece_1, piece_2, piece_3 256 -> thread
}
