# Where a run says how many there are and lanes are tested, the first and the last vector stand apart,
# too, and those between need no test. Z, in place, computes no element twice. Few are one vector.
-- args
print --ir=loops --passes=Flatten,Vectorize --target cpu:x86-64-v4
-- in
kernel borders(W, X: f32[W], Y: out f32[W], Z: out alias f32[W]) {
  for i in W @vector {
    s: f32 @reg = 0
    if (0 <= i-1)
      s[] += X[i-1]
    if (i+1 < W)
      s[] += X[i+1]
    Y[i] = s[]
  }
  for i in W @vector
    if (0 <= i-1)
      Z[i] += X[i-1]
}
-- out
kernel borders(W, X: f32[W], Y: out f32[W], Z: out alias f32[W]) flat {
  if (16 < W) {
    for i in 16 @vector(i32x16) {
      s: f32 @reg = 0
      if (0 <= i-1)
        s[] += X[i-1]
      s[] += X[i+1]
      Y[i] = s[]
    }
    for v in 1..(W+15)/16-1
      for i_1 in 16 @vector(i32x16) {
        s_1: f32 @reg = 0
        s_1[] += X[i_1+v*16-1]
        s_1[] += X[i_1+v*16+1]
        Y[i_1+v*16] = s_1[]
      }
    for i_2 in 16 @vector(i32x16) {
      s_2: f32 @reg = 0
      s_2[] += X[i_2+W-17]
      if (i_2+W-15 < W)
        s_2[] += X[i_2+W-15]
      Y[i_2+W-16] = s_2[]
    }
  }
  else {
    for i_3 in W @vector(i32x16) {
      s_3: f32 @reg = 0
      if (0 <= i_3-1)
        s_3[] += X[i_3-1]
      if (i_3+1 < W)
        s_3[] += X[i_3+1]
      Y[i_3] = s_3[]
    }
  }
  if (16 < W) {
    for i_4 in 16 @vector(i32x16)
      if (0 <= i_4-1)
        Z[i_4] += X[i_4-1]
    for v_1 in 1..(W+15)/16-1
      for i_5 in 16 @vector(i32x16)
        Z[i_5+v_1*16] += X[i_5+v_1*16-1]
    for i_6 in W-(W+15)/16*16+16 @vector(i32x16)
      Z[i_6+(W+15)/16*16-16] += X[i_6+(W+15)/16*16-17]
  }
  else {
    for i_7 in W @vector(i32x16)
      if (0 <= i_7-1)
        Z[i_7] += X[i_7-1]
  }
}
