# Views, copies and what is read through them.
graph views(%x: f32[4,6,10]) -> %a, %b, %c, %d, %e, %g, %h {
  %i = Relu(%x)  "first"
  %starts: i64[1] = {2}
  %ends: i64[1] = {5}
  %axes: i64[1] = {1}
  %s = Slice(%i, %starts, %ends, %axes)  "middle"
  %one: i64[1] = {1}
  %three: i64[1] = {3}
  %zero: i64[1] = {0}
  %part = Slice(%i, %one, %three, %zero)  "rows"
  %sum = Sqrt(%part)  "root"
  %a = Concat(%sum, %part) {axis=0}  "stack"
  %last: i64[1] = {-1}
  %before: i64[1] = {-100}
  %two: i64[1] = {2}
  %b = Slice(%i, %last, %before, %two, %last)  "backwards"
  %c = Transpose(%s) {perm=[2,0,1]}  "turn"
  %g = Slice(%x, %zero, %ends, %two, %two)  "each second"
  %u = Neg(%x)  "minus"
  %v = Abs(%x)  "plus"
  %d0 = Concat(%u, %v) {axis=0}  "pile"
  %d = Exp(%d0)  "above"
  %h = Slice(%d, %one, %three, %zero)  "rows of the result"
  %e = Transpose(%i) {perm=[1,0,2]}  "swap"
}
