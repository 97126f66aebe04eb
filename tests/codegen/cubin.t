# What a kernel takes as NVRTC compiles it.
-- needs
$tw --version | grep 'NVRTC [0-9]'
-- args
print --ir=loops --cubin --target=cuda:h100
-- in
kernel add(X: f32[64,8], Y: out f32[64,8]) {
  for t in 64 @thread.x
    for v in 8 @vector
      Y[t, v] = X[t, v] + 1.0
}
-- has
registers, 0 bytes local, 0 shared
