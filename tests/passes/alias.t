# Relay's name of a pass is as good as ours; one whose work is done elsewhere runs nothing.
-- args
print --passes=RemoveUnusedFunctions,CanonicalizeCast
-- in
graph g(%x: f32[N,4]) -> %y {
  %a = Cast(%x) {to=11}
  %b = Cast(%a) {to=1}
  %y = Relu(%b)
}
-- out
graph g(%x: f32[N,4]) -> %y {
  %y: f32[N,4] = Relu(%x)
}
