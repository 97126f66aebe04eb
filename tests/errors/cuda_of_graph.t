# Kernels of a graph are CUDA C for a GPU only.
-- args
print --cuda
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
--cuda and --cubin need a GPU, such as --target cuda:h100
-- exit
2
