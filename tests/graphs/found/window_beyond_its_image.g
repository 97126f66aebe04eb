# seed 4711014487
# At one of the sizes that data decides the window is longer by two than what it runs over.
graph g(%x: f32[N]) -> %y {
  %c: i64[1] = {0}
  %v = NonZero(%x)
  %u = Unsqueeze(%v, %c)
  %f = Cast(%u) {to=1}
  %y = LpPool(%f) {kernel_shape=[3]}
}
