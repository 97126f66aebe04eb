# The end of a Slice is an element of a value that becomes the result of a group: the symbol that
# stands for it is then defined by the group's result, which the Slice can see.
-- args
print --passes=InferShapes,FuseOps
-- in
graph g(%x: f32[5], %n: i64) -> %y {
  %one: i64 = {1}
  %zero: i64[1] = {0}
  %m = Add(%n, %one)               "m"
  %end = Unsqueeze(%m, %zero)      "end"
  %y = Slice(%x, %zero, %end)      "y"
}
-- out
graph g(%x: f32[5], %n: i64) -> %y {
  symbol E0 in -2147483648..2147483647 = %end[0]
  %one: i64     = {1}
  %zero: i64[1] = {0}
  %end: i64[1] = fused(%n, %one, %zero)  "end" from "m", "end" {
    %m: i64    = Add(%n, %one)  "m"
    %v: i64[1] = Unsqueeze(%m, %zero)  "end"
    yield %v
  }
  %y: f32[max(0, min(5, E0-E0/2147483648*5))] = Slice(%x, %zero, %end)  "y"
}
