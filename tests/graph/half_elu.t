# exp(x) - 1 is 0 in 16 bits where x is small: what subtracts so is computed in f32, and its
# attributes are numbers of f32.
-- args
print --meaning
-- in
graph g(%x: bf16[N]) -> %a, %b, %c {
  %a = Elu(%x)               "a"
  %b = Celu(%x) {alpha=0.3}  "b"
  %c = Selu(%x)              "c"
}
-- out
# a (Elu)
expr Elu(x: bf16[N]) -> y {
  y[i0:N]: bf16 = bf16(f32(x[i0]) < 0 ? 1 * (exp(f32(x[i0])) - 1) : f32(x[i0]))
}
# b (Celu)
expr Celu(x: bf16[N]) -> y {
  y[i0:N]: bf16 = bf16(max(f32(x[i0]), 0) + min(0.3 * (exp(f32(x[i0]) / 0.3) - 1), 0))
}
# c (Selu)
expr Selu(x: bf16[N]) -> y {
  y[i0:N]: bf16 = bf16(1.050701 * (f32(x[i0]) > 0 ? f32(x[i0]) : 1.6732632 * (exp(f32(x[i0])) - 1)))
}
