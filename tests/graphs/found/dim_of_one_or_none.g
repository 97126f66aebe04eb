# seed 3
# A dim that is 1 or 0 broadcasts.
graph g(%x: f32[2,S,4], %w: f32[2,6,4]) -> %y, %z, %c {
  %one: i64[1] = {1}
  %neg: i64[1] = {-1}
  %zero: i64[1] = {0}
  %s = Shape(%x) {start=1, end=2}
  %t = Min(%s, %one)
  %cut = Slice(%w, %zero, %t, %one)
  %y = Add(%x, %cut)
  %z = Mul(%cut, %x)
  %b = Greater(%cut, %cut)
  %c = Where(%b, %x, %cut)
}
