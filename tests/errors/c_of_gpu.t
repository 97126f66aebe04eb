# What runs on a GPU is no C.
-- args
print -O2 --c --target=cuda:sm_90
-- in
graph g(%x: f32[4]) -> %y {
  %y = Relu(%x)
}
-- err
--c is for CPUs; the kernels of cuda:sm_90: --cuda
-- exit
2
