# A node that a model does not have.
-- args
tiles --target cpu:x86-64-v3 --node z
-- in
graph g(%x: f32[8]) -> %y {
  %y = Relu(%x) "y"
}
-- err
-: no group with loops comes from a node 'z'
-- exit
2
