# Scores, labels and weights name their dims differently: what must be equal is assumed so, and the
# meaning relies on it at once.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[N,C], %t: i64[M], %w: f32[K]) -> %y {
  %y = NegativeLogLikelihoodLoss(%x, %t, %w) {reduction="none"}  "loss"
}
-- out
# loss (NegativeLogLikelihoodLoss)
expr NegativeLogLikelihoodLoss(input: f32[N,C], target: i64[N], weight: f32[C]) -> loss {
  loss[i0:N]: f32 = -input[i0, at(target[i0], 0..C, check)] * weight[at(target[i0], 0..C, check)]
}
