# A convolution's slices in shared memory: places and terms of several loops, borders as zeros.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel conv(X: f32[8,14,14], W: f32[40,8,3,3], Y: out f32[40,14,14]) {
  for f in 40, p in 14, q in 14 {
    acc: f32 @reg = 0
    for c in 8, r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 14 && 0 <= q+s-1 && q+s-1 < 14)
        acc[] += X[c, p+r-1, q+s-1] * W[f, c, r, s]
    Y[f, p, q] = max(acc[], 0)
  }
}
schedule {
  fuse p, q -> pq
  split_whole f 32 -> rows, inner
  split inner 8 -> u, y
  split_whole pq 64 -> columns, inner_1
  split inner_1 4 -> x, w
  reorder rows, columns, y, x, u, w
  bind rows @block.y
  bind columns @block.x
  bind y @thread.y
  bind x @thread.x
  fission w acc @reg -> w_1
  fission u acc @reg -> u_1
  bind w_1 @vector
  fuse c, r -> cr
  fuse cr, s -> k
  split_whole k 16 -> slice, term
  reorder slice, term, u, w
  bind w @vector
  reindex u, y, term 2 W at slice @shared -> left
  reindex term, x, w 1 X at slice @shared -> right
  bind u @unroll
  bind u_1 @unroll
}
-- out
kernel conv(X: f32[8,14,14], W: f32[40,8,3,3], Y: out f32[40,14,14]) {
  for rows in 2 @block.y
    for columns in 4 @block.x
      for y in 8 @thread.y
        for x in 16 @thread.x {
          right: f32[16,68] @shared
          left: f32[32,20] @shared
          acc: f32[4,4] @reg = 0
          for slice in 5 {
            for right_0 in 8 {
              let right_at = right_0*2+slice*16+y/4
              let right_at_1 = min(195, columns*64+x+y%4*16)
              right[right_0*2+y/4, x+y%4*16] = 0 <= right_at_1/14+right_at/3%3-1 && right_at_1/14+right_at/3%3-1 < 14 && 0 <= right_at%3+right_at_1%14-1 && right_at%3+right_at_1%14-1 < 14 && right_0+slice*8 < 36 ? X[right_at/9, right_at_1/14+right_at/3%3-1, right_at%3+right_at_1%14-1] : 0
            }
            let left_at = slice*16+x%4*4
            if (rows*8+y < 10 && slice*4+x%4 < 18) {
              for left_1 in 4 @vector
                left[y*4+x/4, left_1+x%4*4] = W[rows*32+y*4+x/4, (left_1+left_at)/9, (left_1+left_at)/3%3, (left_1+left_at)%3]
            }
            else {
              for left_2 in 4 {
                let left_at_1 = left_2+slice*16+x%4*4
                left[y*4+x/4, left_2+x%4*4] = slice*4+x%4 < 18 ? W[min(39, rows*32+y*4+x/4), left_at_1/9, left_at_1/3%3, left_at_1%3] : 0
              }
            }
            sync
            for term in 16
              for u in 4 @unroll
                for w in 4 @vector
                  acc[w, u] += right[term, w+x*4] * left[u*8+y, term]
            sync
          }
          for u_1 in 4 @unroll
            for w_1 in 4 @vector
              if (rows*4+u_1 < 5)
                if (columns*16+x < 49)
                  Y[rows*32+u_1*8+y, (columns*64+(x*4+w_1))/14, (columns*8+w_1+x*4)%14] = max(acc[w_1, u_1], 0)
        }
}
