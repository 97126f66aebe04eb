# Between no elements there is nothing to show.
-- args
print -O0
-- in
graph g(%x: f32[1,1,0,4]) -> %y {
  %sizes: i64[2] = {2, 4}
  %y = Resize(%x, _, _, %sizes) {mode="linear", axes=[2,3]}
}
-- err
-:3: (Resize): axis 2 has no elements, expected some to make 2 of
