# Equal nodes on equal inputs are computed once, chains included.
-- args
print --passes=EliminateCommonSubexpr
-- in
graph g(%x: f32[4]) -> %y {
  %one: f32 = {1}
  %uno: f32 = {1}
  %a = Relu(%x)       "a"
  %b = Relu(%x)       "b"
  %c = Add(%a, %one)  "c"
  %d = Add(%b, %uno)  "d"
  %y = Add(%c, %d)    "y"
}
-- out
graph g(%x: f32[4]) -> %y {
  %one: f32 = {1}
  %uno: f32 = {1}
  %a: f32[4] = Relu(%x)  "a" from "a", "b"
  %c: f32[4] = Add(%a, %one)  "c" from "c", "d"
  %y: f32[4] = Add(%c, %c)  "y"
}
