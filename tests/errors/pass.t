# A pass that does not exist.
-- args
print --passes=FuseOpts
-- in
graph g(%x: f32[2]) -> %y {
  %y: f32[2] = Relu(%x)
}
-- err
no pass is called 'FuseOpts'; near it: FoldConstant, FoldBias, FuseOps, FoldNumbers, Flatten
-- exit
2
