# The next row comes to the second cache while this one is computed: 256 of its numbers for each part,
# one line more where rows begin anywhere.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel rows(X: f32[20,600], W: f32[605], Y: out f32[20,600]) {
  for i in 20 {
    acc: f32 @reg = 0
    for k in 600
      acc[] += X[i, k]
    for j in 600
      Y[i, j] = X[i, j] * acc[] + W[j + 5]
  }
}
schedule {
  split j 256 -> jo, ji
  bind i @parallel
  fetch i X, Y 2 at jo
  fetch jo W 1 at jo
  bind ji @vector
  bind k @vector
}
-- out
kernel rows(X: f32[20,600], W: f32[605], Y: out f32[20,600]) {
  for i in 20 @parallel {
    acc: f32 @reg = 0
    for k in 600 @vector
      acc[] += X[i, k]
    for jo in 3 {
      for W_line_0 in 17
        fetch.near(W[jo*256+min(255, W_line_0*16)+261])
      for X_line_1 in 17
        fetch.far(X[i+1, jo*256+min(255, X_line_1*16)])
      for Y_line_1 in 17
        fetch.far(Y[i+1, jo*256+min(255, Y_line_1*16)])
      for ji in min(256, 600-jo*256) @vector
        Y[i, ji+jo*256] = X[i, ji+jo*256] * acc[] + W[ji+jo*256+5]
    }
  }
}
