# Keys that are text are refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: i64[N]) -> %y {
  %y = ai.onnx.ml.LabelEncoder(%x) {keys_strings=["a"], values_int64s=[1]} "m"
}
-- err
-:2: node "m" (LabelEncoder): text (keys_strings) is not supported: turn it into numbers before the model, and numbers into text behind it
