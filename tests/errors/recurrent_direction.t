# A direction that does not exist is not taken for one that does.
-- args
print -O0
-- in
graph g(%x: f32[5,N,3], %w: f32[1,2,3], %r: f32[1,2,2]) -> %y {
  %y = RNN(%x, %w, %r) {direction="backwards"}  "rnn"
}
-- err
-:2: node "rnn" (RNN): direction 'backwards' is none of: forward reverse bidirectional
