# seed 1
# The least integer, added: it has no negative.
graph g(%x: i64, %e: i64[0], %z: i64[5]) -> %y, %w {
  %c: i64[1] = {0}
  %m = ReduceMax(%e, %c)
  %y = Add(%m, %x)
  %d = Sub(%z, %m)
  %w = Sub(%d, %x)
}
