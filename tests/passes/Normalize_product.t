# A product of two sums stays one, the factor first that changes more seldom; what is multiplied by
# one term alone is distributed, and so is what meets a like term.
-- args
print --ir=loops --passes=Normalize,LICM
-- in
kernel k(N, Y: out f32[4096]) flat {
  for i in 8, j in 8 {
    Y[j] = f32((j/3 + j + 2) * (i/3 + i*N + 2))
    Y[i] = f32((j + i) * N + (j + 1) * (j - 1))
  }
}
-- out
kernel k(N, Y: out f32[4096]) flat {
  for i in 8 {
    let h0 = i/3+i*N+2
    let h1 = i*N
    for j in 8 {
      Y[j] = f32(h0*(j/3+j+2))
      Y[i] = f32(h1+(j*j+j*N)-1)
    }
  }
}
