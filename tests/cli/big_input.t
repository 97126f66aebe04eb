# A gigabyte is not made up, neither to prove the bundle nor for its self-test.
-- args
compile -O0 --json -o "$T/m.twb"
-- in
graph g(%x: f32[268435456]) -> %y { %y = Relu(%x) }
-- has
left out: its inputs take more than 256 MB at these sizes
