# Along y and z a grid has 65535 blocks at most.
-- args
print --ir=loops --target=cuda:h100
-- in
kernel k(Y: out f32[65536]) {
  for b in 65536 @block.y {
    Y[b] = 1
  }
}
-- err
-:1: kernel k: 65536 blocks along y, and cuda:h100 has 65535
-- exit
4
