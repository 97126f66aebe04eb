# What Halide's pass would do, to compare with: sums regrouped, sums and products worth more than one
# operation taken out, with conditions as they stand; reads stay.
-- args
print --ir=loops --passes=Normalize,LICM --config Normalize.orders=sums --config LICM.costs=halide --config LICM.least=2 --verify=each
-- in
kernel k(A: f32[4096], B: f32[64], O: out f32[4096]) flat {
  for j in 60 {
    for i in 60 {
      O[i + j*60 + 7] = (i < 56 && 3 < j && j < 56 ? A[i + j*60] * B[j] : 0.0)
    }
  }
}
-- out
kernel k(A: f32[4096], B: f32[64], O: out f32[4096]) flat {
  for j in 60 {
    let h0 = 3 < j
    let h1 = j < 56
    for i in 60
      O[j*60+i+7] = i < 56 && h0 && h1 ? A[j*60+i] * B[j] : 0
  }
}
