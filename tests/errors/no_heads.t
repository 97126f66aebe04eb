# What arithmetic of extents refuses has the node's place.
-- args
print -O1
-- in
graph g(%q: f32[1,4,4,8], %k: f32[1,0,4,8], %v: f32[1,0,4,8]) -> %y {
  %y = Attention(%q, %k, %v)  "s"
}
-- err
-:2: node "s" (Attention): an extent is divided by zero
