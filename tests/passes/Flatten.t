# Each access gets one index, simplified where it stands; strides are put in; registers keep dims.
-- args
print --ir=loops --passes=Flatten
-- in
kernel rows(N, H, X: f32[N,3,H], S: f32[3,N] strides(1, 6), I: i64[N], Y: out f32[N,3,H]) {
  for n in N @parallel {
    acc: f32[2,3] @reg = 0
    row: f32[3,H] @scratch
    for c in 3, k in 2*H {
      row[k % 3 * 0 + c, k / 2] = X[at(I[n], 0..N, wrap, check), c, k / 2]
      acc[k % 2, c] += S[c, n]
    }
    for ch in 3*H
      Y[n, ch / H, ch % H] = row[ch / H, ch % H] + acc[0, ch / H]
  }
}
-- out
kernel rows(N, H, X: f32[H*N*3], S: f32[N*6-3], I: i64[N], Y: out f32[H*N*3]) flat {
  for n in N @parallel {
    acc: f32[2,3] @reg = 0
    row: f32[H*3] @scratch
    for c in 3, k in H*2 {
      row[c*H+k/2] = X[c*H+H*at(I[n], 0..N, wrap, check)*3+k/2]
      acc[k%2, c] += S[c+n*6]
    }
    for ch in H*3
      Y[n*H*3+ch] = row[ch] + acc[0, ch/H]
  }
}
