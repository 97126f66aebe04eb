# A word that is no primitive.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel copy(X: f32[6], Y: out f32[6]) {
  for i in 6
    Y[i] = X[i]
}
schedule {
  vectorise i
}
-- err
-:6: 'vectorise' is no primitive of schedules; these are: split, split_tail, split_whole, fuse, reorder, bind, unroll, fission, unswitch, skew, cache_read, reindex, pack, precompute, cache_write, rfactor, lanes, tensorize, load_matrix, prefetch, fetch, compute_at, spread
