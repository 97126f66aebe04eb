# Graphs are not lowered for a GPU.
-- args
print --cuda --target=cuda:h100
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
--cuda and --cubin print the text of a kernel's loops
-- exit
2
