# A read that the boxes and the guard do not prove in range is named.
-- args
print --ir=expr
-- in
expr f(X: f32[N]) -> Y {
  Y[p:N]: f32 = sum(r:3 where 0 <= p+r-1) X[p+r-1]
}
-- err
-:3: expression 'f', stage 'Y': reads 'X' at p+r-1 in dim 0, not certainly in 0..N
-- exit
3
