# Names of passes are checked, whatever they run on.
-- args
print --ir=loops --passes=FoldSomething
-- in
kernel k(X: f32[4], Y: out f32[4]) {
  for i in 4
    Y[i] = X[i]
}
-- err
there is no pass 'FoldSomething' (tilewright list passes shows all)
-- exit
2
