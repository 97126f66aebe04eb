# Coefficients that are no rows are refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y, %z {
  %y, %z = ai.onnx.ml.LinearClassifier(%x) {coefficients=[1,2,3,4], intercepts=[1,2,3], classlabels_ints=[1,2,3]} "m"
}
-- err
-:2: node "m" (LinearClassifier): 4 coefficients are no rows for 3 scores
