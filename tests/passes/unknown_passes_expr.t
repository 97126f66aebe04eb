# Names of passes are checked, whatever they run on.
-- args
print --ir=expr --passes=FoldSomething
-- in
expr f(X: f32[4]) -> Y {
  Y[n:4]: f32 = X[n]
}
-- err
there is no pass 'FoldSomething' (tilewright list passes shows all)
-- exit
2
