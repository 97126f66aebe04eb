# A pass that does not exist.
-- args
print --passes=FuseOpts
-- in
graph g(%x: f32[2]) -> %y {
  %y: f32[2] = Relu(%x)
}
-- err
there is no pass 'FuseOpts'; did you mean 'FuseOps'? (tilewright list passes shows all)
-- exit
2
