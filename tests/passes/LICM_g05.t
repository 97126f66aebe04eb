# tiled matmul (TVM tutorial, M=N=K=64, 8x8 tiles, ki=4)
-- args
print --ir=loops --passes=Normalize,LICM --verify=each
-- in
kernel g05(C: out f32[4096], A: f32[4096], B: f32[4096]) flat {
  for xo in 8 {
    for yo in 8 {
      for ko in 16 {
        for ki in 4 {
          for xi in 8 {
            for yi in 8 {
              C[xo * 512 + xi * 64 + yo * 8 + yi] = C[xo * 512 + xi * 64 + yo * 8 + yi] + A[xo * 512 + xi * 64 + ko * 4 + ki] * B[ko * 256 + ki * 64 + yo * 8 + yi]
            }
          }
        }
      }
    }
  }
}
-- out
kernel g05(C: out f32[4096], A: f32[4096], B: f32[4096]) flat {
  for xo in 8 {
    let h0 = xo*512
    for yo in 8 {
      let h1 = h0+yo*8
      let h6 = yo*8
      for ko in 16 {
        let h3 = h0+ko*4
        let h7 = h6+ko*256
        for ki in 4 {
          let h4 = h3+ki
          let h8 = h7+ki*64
          for xi in 8 {
            let h2 = h1+xi*64
            let h5 = A[h4+xi*64]
            for yi in 8
              C[h2+yi] = C[h2+yi] + h5 * B[h8+yi]
          }
        }
      }
    }
  }
}
