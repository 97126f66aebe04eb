# Names of passes are checked, whatever they run on.
-- args
print --ir=graph --passes=FoldSomething
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
no pass is called 'FoldSomething'; near it: FoldConstant, FoldBias, FuseOps, FoldNumbers, Flatten
-- exit
2
