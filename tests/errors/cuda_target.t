# CUDA C is for a GPU.
-- args
print --ir=loops --cuda --target=cpu:x86-64-v3
-- in
kernel k(Y: out f32[8]) {
  for t in 8 @thread.x
    Y[t] = 1
}
-- err
--cuda and --cubin need a GPU, such as --target cuda:h100
-- exit
2
