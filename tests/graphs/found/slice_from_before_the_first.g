# seed 3
# What counts downwards from in front of the first element begins with it; where nothing is read, no
# dim keeps the number from where.
graph g(%x: f32[N,3], %o: f32[1,4], %s: i64[1], %n: i64[2]) -> %y, %z, %w, %u, %v {
  %from: i64[2] = {-1, -9}
  %to: i64[2] = {-9223372036854775808, -9223372036854775808}
  %axes: i64[2] = {0, 1}
  %by: i64[2] = {-1, -2}
  %y = Slice(%x, %from, %to, %axes, %by)
  %z = Slice(%o, %from, %to, %axes, %by)
  %minus: i64[2] = {-3, -2}
  %w = Slice(%x, %minus, %to, %axes, %by)
  %v = Slice(%o, %n, %to, %axes, %by)
  %zero: i64[1] = {0}
  %one: i64[1] = {1}
  %u = Slice(%x, %s, %zero, %one)
}
