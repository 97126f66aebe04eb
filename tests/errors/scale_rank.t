# What broadcasts to the input has at most its rank.
-- args
print -O0
-- in
graph g(%x: f32[6], %s: f32[2,6]) -> %y { %y = LayerNormalization(%x, %s)  "norm" }
-- err
-:1: node "norm" (LayerNormalization): input scale has rank 2, expected at most 1
