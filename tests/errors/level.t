# Levels are 0 to 3.
-- args
print -O4
-- in
graph g(%x: f32[2]) -> %y {
  %y: f32[2] = Relu(%x)
}
-- err
-O4: levels are 0 to 3
-- exit
2
