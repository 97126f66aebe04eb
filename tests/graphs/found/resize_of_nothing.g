# Data leaves no rows, and of these two are to be made: what lies behind them was read.
graph g(%x: f32[4,3], %i: i64[2]) -> %y, %z {
  %none = Sub(%i, %i)
  %n = NonZero(%none)
  %m = Shape(%n) {start=1}
  %0: i64[1] = {0}
  %a = Slice(%x, %0, %m, %0)
  %u: i64[2] = {0, 1}
  %b = Unsqueeze(%a, %u)
  %sizes: i64[2] = {2, 4}
  %y = Resize(%b, _, _, %sizes) {mode="linear", axes=[2,3]}
  %z = Resize(%b, _, _, %sizes) {axes=[2,3]}
}
