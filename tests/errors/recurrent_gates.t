# The rows of recurrent weights are those of the cell's gates: here twice too many.
-- args
print -O0
-- in
graph g(%x: f32[5,N,3], %w: f32[1,4,3], %r: f32[1,4,2]) -> %y {
  %y = RNN(%x, %w, %r) {hidden_size=2}  "rnn"
}
-- err
-:2: node "rnn" (RNN): dim 1 of input w: 4 and 2 differ (inputs x: f32[5,N,3], w: f32[1,4,3], r: f32[1,4,2])
