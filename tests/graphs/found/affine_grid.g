# seed 3
# An axis of one element, from corner to corner and not.
graph g(%x: f32[2,2,3], %z: f32[1,3,4]) -> %y, %q, %u {
  %c: i64[4] = {2, 3, 4, 5}
  %d: i64[5] = {1, 1, 3, 1, 2}
  %y = AffineGrid(%x, %c)
  %u = AffineGrid(%x, %c) {align_corners=1}
  %q = AffineGrid(%z, %d) {align_corners=0}
}
