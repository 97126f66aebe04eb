# Vectors across rows are turned where they are only copied; each vector of a row for itself. LICM
# leaves their indices whole.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll,Normalize,HoistBranches,TurnLoops,LICM --verify=each --target cpu:x86-64-v3
-- in
kernel turned(N, X: f32[64,N,40], Y: out f32[40,64]) {
  for n in N {
    t: f32[40,16] @stack
    for u in 40
      for i in 16 @vector
        t[u, i] = X[i, n, u]
    for u in 40
      for i in 16 @vector
        Y[u, i] += t[u, i]
  }
}
-- out
kernel turned(N, X: f32[N*2560], Y: out f32[2560]) flat {
  let h0 = N*40
  let h1 = N*320
  for n in N {
    t: f32[640] @stack
    for u in 40 @turn
      for i in 8 @vector(i32x8)
        t[u*16+i] = X[n*40+u+i*h0]
    for u_1 in 40 @turn
      for i_1 in 8 @vector(i32x8)
        t[u_1*16+8+i_1] = X[h1+n*40+u_1+i_1*h0]
    for u_1_1 in 40 {
      let h2 = u_1_1*64
      let h3 = u_1_1*16
      for i_1_1 in 8 @vector(i32x8)
        Y[h2+i_1_1] += t[h3+i_1_1]
      for i_1_2 in 8 @vector(i32x8)
        Y[h2+8+i_1_2] += t[h3+8+i_1_2]
    }
  }
}
