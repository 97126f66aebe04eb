# A recurrence is one thread for each of its rows.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[50,300]) -> %y {
  %a: i64 = {1}
  %y = CumSum(%x, %a) "cum"
}
-- out
kernel k0_cum(x: f32[50,300], y: out f32[50,300]) "cum" {
  for i0 in 50 {
    state: f32 @reg = 0
    for t in 300 {
      state[] = state[] + x[i0, t]
      y[i0, t] = state[]
    }
  }
}
schedule {
  split_whole i0 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
}
