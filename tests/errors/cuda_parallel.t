# A GPU has no @parallel loops.
-- args
print --ir=loops --cuda --target=cuda:h100
-- in
kernel k(X: f32[8], Y: out f32[8]) {
  for i in 8 @parallel
    Y[i] = X[i]
}
-- err
-:1: kernel k: a GPU has blocks and threads, and no @parallel loops
-- exit
4
