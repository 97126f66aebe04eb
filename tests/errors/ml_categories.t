# A category that is there twice is refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: i64[N]) -> %y {
  %y = ai.onnx.ml.OneHotEncoder(%x) {cats_int64s=[4,5,4]} "m"
}
-- err
-:2: node "m" (OneHotEncoder): cats_int64s has 4 twice
