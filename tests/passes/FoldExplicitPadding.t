# Windows pad what a Pad before them padded: convolutions with strides, dilations, groups and pads of
# their own, of one dim and on one side; averages that count the padding, and maxima of a lowest fill.
-- args
print --passes=FoldExplicitPadding,DeadCodeElimination
-- in
graph g(%x: f32[N,4,H,16], %s: f32[N,2,T]) -> %c, %d, %e, %f, %m, %n {
  %w: f32[4,1,3,3] = weight 0
  %v: f32[2,2,3] = weight 1
  %b: f32[4] = weight 2
  %p: i64[8] = {0, 0, 1, 2, 0, 0, 1, 0}
  %left: i64[6] = {0, 0, 4, 0, 0, 0}
  %low: f32 = {-inf}
  %px = Pad(%x, %p)                  "pad of c"
  %c = Conv(%px, %w, %b) {group=4, strides=[2,1], pads=[0,1,0,1]}  "c"
  %py = Pad(%x, %p)                  "pad of d"
  %d = Conv(%py, %w) {group=4, dilations=[2,2]}  "d"
  %ps = Pad(%s, %left)               "pad of e"
  %e = Conv(%ps, %v) {dilations=[2]}  "causal"
  %pz = Pad(%x, %p)                  "pad of f"
  %f = AveragePool(%pz) {kernel_shape=[2,3], count_include_pad=1}  "average"
  %pm = Pad(%x, %p, %low)            "pad of m"
  %m = MaxPool(%pm) {kernel_shape=[3,3], strides=[2,2]}  "most"
  %pn = Pad(%s, %left, %low)         "pad of n"
  %n = MaxPool(%pn) {kernel_shape=[5]}  "most of a row"
}
-- out
graph g(%x: f32[N,4,H,16], %s: f32[N,2,T]) -> %c, %d, %e, %f, %m, %n {
  %w: f32[4,1,3,3] = weight 0
  %v: f32[2,2,3]   = weight 1
  %b: f32[4]       = weight 2
  %c: f32[N,4,(H+1)/2,18] = Conv(%x, %w, %b) {group=4, strides=[2,1], pads=[1,3,1,1]}  "c" from "c", "pad of c"
  %d: f32[N,4,H-2,14]     = Conv(%x, %w) {group=4, dilations=[2,2], pads=[1,2,1,0]}  "d" from "d", "pad of d"
  %e: f32[N,2,T]          = Conv(%s, %v) {dilations=[2], pads=[4,0]}  "causal" from "causal", "pad of e"
  %f: f32[N,4,H+1,16]     = AveragePool(%x) {kernel_shape=[2,3], count_include_pad=1, pads=[1,2,1,0]}  "average" from "average", "pad of f"
  %m: f32[N,4,(H+1)/2,8]  = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,0]}  "most" from "most", "pad of m"
  %n: f32[N,2,T]          = MaxPool(%s) {kernel_shape=[5], pads=[4,0]}  "most of a row" from "most of a row", "pad of n"
}
