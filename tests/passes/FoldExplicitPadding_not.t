# What is not nothing to the window stays: other fills and modes, padded channels, parts cut off;
# weights that are infinite or not known, whose product with 0 may be NaN; averages that count only
# what is there; windows that others refuse, for they see nothing but padding; what others read, too;
# pads that are not looked at, and those of a transposed convolution, which cut.
-- args
print --passes=FoldExplicitPadding
-- in
graph g(%x: f32[N,4,H,16], %u: f32[4,1,3,3], %q: u8[N,4,8,8]) -> %a, %b, %c, %d, %e, %f, %i, %j, %k, %l, %m, %o, %r {
  %w: f32[4,1,3,3] = weight 0
  %h: f32[4,5,1,1] = weight 1
  %g: u8[4,4,1,1] = weight 2
  %three: u8 = {3}
  %one: f32 = {1}
  %low: f32 = {-inf}
  %p: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  %n: i64[8] = {0, 0, -1, 1, 0, 0, 1, 1}
  %ch: i64[8] = {0, 1, 0, 0, 0, 0, 0, 0}
  %p1 = Pad(%x, %p, %one)
  %a = Conv(%p1, %w) {group=4}                "fill of 1"
  %p2 = Pad(%x, %p) {mode="reflect"}
  %b = Conv(%p2, %w) {group=4}                "reflected"
  %p3 = Pad(%x, %n)
  %c = Conv(%p3, %w) {group=4}                "cut"
  %p4 = Pad(%x, %ch)
  %d = Conv(%p4, %h)                          "channels"
  %p5 = Pad(%x, %p)
  %e = Conv(%p5, %u) {group=4}                "weights not known"
  %p6 = Pad(%x, %p)
  %w6: f32[4,1,1,2] = {1, inf, 1, 1, 1, 1, 1, 1}
  %f = Conv(%p6, %w6) {group=4}               "infinite weight"
  %p7 = Pad(%x, %p)
  %i = AveragePool(%p7) {kernel_shape=[3,3], pads=[1,1,1,1]}  "counts what is there"
  %p8 = Pad(%x, %p)
  %j = MaxPool(%p8) {kernel_shape=[3,3]}      "most of 0"
  %p9 = Pad(%x, %p, %low)
  %k = MaxPool(%p9) {kernel_shape=[1,1]}      "nothing but padding"
  %p10 = Pad(%x, %p)
  %l = Conv(%p10, %w) {group=4}               "read twice"
  %m = Neg(%p10)                              "the other"
  %p11 = Pad(%x, %p)
  %o = Conv(%p11, %w) {group=4, auto_pad="SAME_UPPER"}  "pads of its own making"
  %p12 = Pad(%q, %p)
  %r = ConvInteger(%p12, %g, %three)          "0 is not zero"
}
-- out
graph g(%x: f32[N,4,H,16], %u: f32[4,1,3,3], %q: u8[N,4,8,8]) -> %a, %b, %c, %d, %e, %f, %i, %j, %k, %l, %m, %o, %r {
  %w: f32[4,1,3,3]  = weight 0
  %h: f32[4,5,1,1]  = weight 1
  %g: u8[4,4,1,1]   = {1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}
  %three: u8        = {3}
  %one: f32         = {1}
  %low: f32         = {-inf}
  %p: i64[8]        = {0, 0, 1, 1, 0, 0, 1, 1}
  %n: i64[8]        = {0, 0, -1, 1, 0, 0, 1, 1}
  %ch: i64[8]       = {0, 1, 0, 0, 0, 0, 0, 0}
  %w6: f32[4,1,1,2] = weight 9
  %p1: f32[N,4,H+2,18]  = Pad(%x, %p, %one)
  %a: f32[N,4,H,16]     = Conv(%p1, %w) {group=4}  "fill of 1"
  %p2: f32[N,4,H+2,18]  = Pad(%x, %p) {mode="reflect"}
  %b: f32[N,4,H,16]     = Conv(%p2, %w) {group=4}  "reflected"
  %p3: f32[N,4,H,18]    = Pad(%x, %n)
  %c: f32[N,4,H-2,16]   = Conv(%p3, %w) {group=4}  "cut"
  %p4: f32[N,5,H,16]    = Pad(%x, %ch)
  %d: f32[N,4,H,16]     = Conv(%p4, %h)  "channels"
  %p5: f32[N,4,H+2,18]  = Pad(%x, %p)
  %e: f32[N,4,H,16]     = Conv(%p5, %u) {group=4}  "weights not known"
  %p6: f32[N,4,H+2,18]  = Pad(%x, %p)
  %f: f32[N,4,H+2,17]   = Conv(%p6, %w6) {group=4}  "infinite weight"
  %p7: f32[N,4,H+2,18]  = Pad(%x, %p)
  %i: f32[N,4,H+2,18]   = AveragePool(%p7) {kernel_shape=[3,3], pads=[1,1,1,1]}  "counts what is there"
  %p8: f32[N,4,H+2,18]  = Pad(%x, %p)
  %j: f32[N,4,H,16]     = MaxPool(%p8) {kernel_shape=[3,3]}  "most of 0"
  %p9: f32[N,4,H+2,18]  = Pad(%x, %p, %low)
  %k: f32[N,4,H+2,18]   = MaxPool(%p9) {kernel_shape=[1,1]}  "nothing but padding"
  %p10: f32[N,4,H+2,18] = Pad(%x, %p)
  %l: f32[N,4,H,16]     = Conv(%p10, %w) {group=4}  "read twice"
  %m: f32[N,4,H+2,18]   = Neg(%p10)  "the other"
  %p11: f32[N,4,H+2,18] = Pad(%x, %p)
  %o: f32[N,4,H+2,18]   = Conv(%p11, %w) {group=4, auto_pad="SAME_UPPER"}  "pads of its own making"
  %p12: u8[N,4,10,10]   = Pad(%q, %p)
  %r: i32[N,4,10,10]    = ConvInteger(%p12, %g, %three)  "0 is not zero"
}
