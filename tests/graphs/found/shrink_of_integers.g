# seed 3
# Integers shrunk by numbers that are none: a byte's -5 is 251.
graph g(%x: u8[3,40], %y: i8[3,40], %z: i64[40], %f: f32[9]) -> %a, %b, %c, %d, %e {
  %a = Shrink(%x) {bias=-4.5, lambd=5.}
  %b = Shrink(%y) {bias=1.5, lambd=1.5}
  %c = Shrink(%z) {bias=2.5, lambd=0.5}
  %d = Shrink(%x) {bias=1.5}
  %e = Shrink(%f) {bias=1.5}
}
