# A block must fit the device that --target names.
-- args
print --ir=loops --target=cuda:v100
-- in
kernel k(Y: out f32[64]) {
  for t in 64 @thread.x {
    s: f32[32768] @shared
    s[t] = 1
    Y[t] = s[t]
  }
}
-- err
-:1: kernel k: 131072 bytes of shared memory in a block, and cuda:v100 has 98304
-- exit
4
