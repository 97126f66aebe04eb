# Names of passes are checked, whatever they run on.
-- args
print --ir=graph --passes=FoldSomething
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
there is no pass 'FoldSomething' (tilewright list passes shows all)
-- exit
2
