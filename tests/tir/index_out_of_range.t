# An index that no condition keeps in range is a bug of whoever made the kernel.
-- args
print --ir=loops
-- in
kernel k(N, X: f32[N], Y: out f32[N]) {
  for i in N
    Y[i] = X[i+1]
}
-- err
-:3: kernel k: index 0 of X is not proven in range: i+1
-- exit
3
