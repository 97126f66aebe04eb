# A thread an element, where rows of blocks end behind the last one; the order of dims is free.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[N,20,7]) -> %y {
  %t = Transpose(%x) {perm=[2,0,1]} "turn"
  %y = Exp(%t) "exp"
}
-- out
kernel k0_exp(N, vx: f32[N*20,7], y: out f32[7,N*20]) "turn + exp" {
  for i0 in 7, i1 in N*20
    y[i0, i1] = exp(vx[i1, i0])
}
schedule {
  fuse i0, i1 -> i
  split_whole i 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
}
