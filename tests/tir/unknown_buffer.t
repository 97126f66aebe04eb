# Errors of the text name file and line.
-- args
print --ir=loops
-- in
kernel k(X: f32[4], Y: out f32[4]) {
  for i in 4
    Z[i] = X[i]
}
-- err
-:3: Z is no buffer here
-- exit
3
