# How long rows are only a run knows: no array between stages lies in shared memory, so each is a kernel.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[N,C]) -> %y {
  %y = Softmax(%x) "soft"
}
-- out
kernel k0_soft(N, C, input: f32[N,C], e: out f32[N,C]) "soft" {
  for i0 in N {
    max: f32 @reg
    acc: f32 @reg = -inf
    for k in C
      acc[] max= input[i0, k]
    max[] = acc[]
    for i1 in C
      e[i0, i1] = exp(input[i0, i1] - max[])
  }
}
schedule {
  bind i0 @block.x
  spread k, i1 128 -> thread
}
kernel k1_soft(N, C, e: f32[N,C], y: out f32[N,C]) "soft" {
  for i0 in N {
    sum: f32 @reg
    acc: f32 @reg = 0
    for k in C
      acc[] += e[i0, k]
    sum[] = acc[]
    for i1 in C
      y[i0, i1] = e[i0, i1] / sum[]
  }
}
schedule {
  bind i0 @block.x
  spread k, i1 128 -> thread
}
