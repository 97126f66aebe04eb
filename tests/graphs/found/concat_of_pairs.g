# seed 1
# Plain loops of two iterations that read one of two places: gcc 12 made masks of the branches, and took
# those of the first iterations for the last.
graph random(%x: i64[3,2], %z: i64[3,2], %a: f64[3,2], %b: f64[3,2]) -> %y, %c {
  %y = Concat(%x, %z) {axis=0}
  %c = Concat(%a, %b) {axis=-2}
}
