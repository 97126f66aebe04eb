# More vectors of a class than there are, are refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y, %z {
  %y, %z = ai.onnx.ml.SVMClassifier(%x) {vectors_per_class=[9000000000000000000,9000000000000000000], support_vectors=[1,2,3], coefficients=[1,2], rho=[0], classlabels_ints=[0,1]} "m"
}
-- err
-:2: node "m" (SVMClassifier): class 0 has 9000000000000000000 vectors
