# A @parallel loop runs over a dim, which an extent read from memory, or a quotient by 0, is not.
-- args
print --ir=loops
-- in
kernel k(N, Y: out f32[N]) {
  for i in N/0 @parallel {
    Y[i] = 0
  }
}
-- err
-:2: the extent of a @parallel loop is a dim: numbers and symbols
-- exit
3
