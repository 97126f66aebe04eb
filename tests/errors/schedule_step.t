# A step of a given script that cannot be done: its line, the kernel, why.
-- args
print -O2 --lower --config ApplySchedule.k0_r=$HERE/schedule_step.txt
-- in
graph g(%x: f32[N,2]) -> %y {
  %y = Exp(%x) "r"
}
-- err
tests/errors/schedule_step.txt:3: kernel k0_r: reorder lane: the bounds of loop lane depend on loop piece
