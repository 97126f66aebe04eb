# A long sum in chunks, and their sum.
-- args
print --ir=expr --passes=SplitReduction --target cpu:x86-64-v4
-- in
expr f(X: f32[4194304]) -> Y {
  Y[]: f32 = sum(k:4194304) X[k]
}
-- out
expr f(X: f32[4194304]) -> Y_2 {
  Y[k:16]: f32 = sum(k_2:262144) X[k*262144+k_2]
  Y_2[]: f32 = sum(k:16) Y[k]
}
