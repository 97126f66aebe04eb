# What a meaning needs to know is asked when types are inferred.
-- args
print --passes= --meaning
-- in
graph g(%x: f32[1,25,1], %b: i64[2]) -> %y {
  %image: i64[2] = {5, 5}
  %y: f32[1,1,5,5] = Col2Im(%x, %image, %b)  "fold"
}
-- err
-:3: node "fold" (Col2Im): input block_shape is only known at run time; --fix b=NUMBERS fixes that
