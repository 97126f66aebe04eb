# A sum of few terms is one kernel, and so is one with rows enough for the cores.
-- args
print --ir=expr --passes=SplitReduction --target cpu:x86-64-v4
-- in
expr f(X: f32[64,65536]) -> Y {
  Y[n:64]: f32 = sum(k:65536) X[n, k]
}
-- out
expr f(X: f32[64,65536]) -> Y {
  Y[n:64]: f32 = sum(k:65536) X[n, k]
}
