# seed 1
# Two equal nodes whose results have as many elements as data says: what views the second is a view
# of the first.
graph g(%x: f32[N]) -> %y, %v {
  %ax: i64[1] = {1}
  %h: f32 = {0.5}
  %m = Greater(%x, %h)
  %n = NonZero(%m)
  %t = Transpose(%n) {perm=[1,0]}
  %v = GatherND(%x, %t)
  %n2 = NonZero(%m)
  %t2 = Transpose(%n2) {perm=[1,0]}
  %y = Squeeze(%t2, %ax)
}
