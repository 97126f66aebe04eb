# An Expression of constants is evaluated as any other node.
-- args
print --passes=FoldConstant,DeadCodeElimination
-- in
graph g(%x: i64[2]) -> %y {
  %a: i64[4] = {1, 2, 3, 4}
  %m = Expression(%a) {expr="expr pairs(A: i64[2*N]) -> Y {\n  Y[n:N]: i64 = A[2*n]*A[2*n+1]\n}\n"}  "m"
  %y = Add(%x, %m)   "y"
}
-- out
graph g(%x: i64[2]) -> %y {
  %m_1: i64[2] = {2, 12}
  %y: i64[2] = Add(%x, %m_1)  "y"
}
