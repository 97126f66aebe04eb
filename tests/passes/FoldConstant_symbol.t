# Inference does not follow eight floats; folding computes them. The symbols that stood for the pads
# go with the value that they were read from.
-- args
print --passes=InferShapes,FoldConstant,DeadCodeElimination --verify ir
-- in
graph g(%x: f32[1,3,H,16]) -> %y {
  %f: f32[8] = {0, 0, 0, 1, 0, 0, 1.5, 2}
  %c = Ceil(%f)                 "c"
  %pads = Cast(%c) {to=7}       "pads"
  %y = Pad(%x, %pads)           "y"
}
-- out
graph g(%x: f32[1,3,H,16]) -> %y {
  %pads_2: i64[8] = {0, 0, 0, 1, 0, 0, 2, 2}
  %y: f32[1,3,H+2,19] = Pad(%x, %pads_2)  "y"
}
