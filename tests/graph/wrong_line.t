# A mistake is named with file and line.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[2], %y: f32[3]) -> %z {
  %a = Relu(%x)
  %z = Add(%a, %y)  "sum"
}
-- err
-:3: node "sum" (Add): dim 0 of the inputs: 2 and 3 differ (inputs a: f32[2], y: f32[3])
