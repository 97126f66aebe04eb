# The same while types are found.
-- args
print -O0
-- in
graph g(%x: f32[9223372036854775807,4]) -> %y { %y = Flatten(%x) {axis=2}  "all" }
-- err
-:1: node "all" (Flatten): product of extents 9223372036854775807 and 4 does not fit in 64 bits
