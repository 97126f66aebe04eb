# Graphs are not lowered for a GPU.
-- args
print --cuda --target=cuda:h100
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
--cuda is for a kernel's loops: the input is the text of a graph
-- exit
2
