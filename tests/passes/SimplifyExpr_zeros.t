# First states, a bias and peepholes of zeros go, made for an open batch or given; others stay, -0 too,
# and zeros that mean something.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[S,N,4], %c: f32[1,N,2]) -> %y, %z, %t, %o {
  %w: f32[1,8,4] = weight 0
  %r: f32[1,8,2] = weight 1
  %b: f32[1,16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
  %p: f32[1,6] = {0, 0, 0, 0, 0, 1}
  %v: f32[1,2,4] = weight 2
  %u: f32[1,2,2] = weight 3
  %n: f32[1,1,2] = {-0.0, 0}
  %one: i64[1] = {1}
  %two: i64[1] = {2}
  %s = Shape(%x) {start=1, end=2}
  %d = Concat(%one, %s, %two) {axis=0}
  %h = ConstantOfShape(%d) {value=f32[1]{0}}
  %d2 = Concat(%two, %s, %two) {axis=0}
  %h2 = ConstantOfShape(%d2)
  %first: i64[1] = {0}
  %part = Slice(%h2, %one, %two, %first)
  %y = LSTM(%x, %w, %r, %b, _, %h, %c, %p) {hidden_size=2}    "a cell given, a peephole of 1"
  %z, %last = LSTM(%x, %w, %r, _, _, %h, %part) {hidden_size=2}  "both states"
  %m = Expand(%n, %d)
  %t = RNN(%x, %v, %u, _, _, %m) {hidden_size=2}              "-0"
  %n2 = ConstantOfShape(%d) {value=f32[1]{-0.0}}
  %o = RNN(%x, %v, %u, _, _, %n2) {hidden_size=2}             "-0 for an open batch"
}
-- out
graph g(%x: f32[S,N,4], %c: f32[1,N,2]) -> %y, %z, %t, %o {
  %w: f32[1,8,4] = weight 0
  %r: f32[1,8,2] = weight 1
  %p: f32[1,6]   = weight 2
  %v: f32[1,2,4] = weight 3
  %u: f32[1,2,2] = weight 4
  %n: f32[1,1,2] = {-0, 0}
  %one: i64[1]   = {1}
  %two: i64[1]   = {2}
  %s: i64[1]                          = Shape(%x) {start=1, end=2}
  %d: i64[3]                          = Concat(%one, %s, %two) {axis=0}
  %y: f32[S,1,N,2]                    = LSTM(%x, %w, %r, _, _, _, %c, %p) {hidden_size=2}  "a cell given, a peephole of 1"
  %z: f32[S,1,N,2], %last: f32[1,N,2] = LSTM(%x, %w, %r, _, _, _, _) {hidden_size=2}  "both states"
  %m: f32[1,N,2]                      = Expand(%n, %d)
  %t: f32[S,1,N,2]                    = RNN(%x, %v, %u, _, _, %m) {hidden_size=2}  "-0"
  %n2: f32[1,N,2]                     = ConstantOfShape(%d) {value=f32[1]{-0}}
  %o: f32[S,1,N,2]                    = RNN(%x, %v, %u, _, _, %n2) {hidden_size=2}  "-0 for an open batch"
}
