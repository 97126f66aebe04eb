# An absent input that takes no vector of these is no bias: steps, a bound, a ratio, a value of a border.
-- args
print --passes=FoldBias,DeadCodeElimination
-- in
graph g(%x: f32[2,4,6,6]) -> %y, %z, %u, %v, %w {
  %t: f32[4,1,1] = weight 0
  %a: i64[1] = {0}
  %b: i64[1] = {5}
  %d: i64[1] = {2}
  %p: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  %k: f32[4] = {1, 1, 2, 2}
  %s = Slice(%x, %a, %b, %d)  "s"
  %y = Add(%s, %t)            "y"
  %c = Clip(%x)               "c"
  %z = Add(%c, %t)            "z"
  %o = Dropout(%x)            "o"
  %u = Add(%o, %t)            "u"
  %q = Pad(%x, %p)            "q"
  %v = Add(%q, %t)            "v"
  %r = Resize(%x, _, %k)      "r"
  %w = Add(%r, %t)            "w"
}
-- out
graph g(%x: f32[2,4,6,6]) -> %y, %z, %u, %v, %w {
  %t: f32[4,1,1] = weight 0
  %a: i64[1]     = {0}
  %b: i64[1]     = {5}
  %d: i64[1]     = {2}
  %p: i64[8]     = {0, 0, 1, 1, 0, 0, 1, 1}
  %k: f32[4]     = {1, 1, 2, 2}
  %s: f32[2,4,5,6]   = Slice(%x, %a, %b, %d)  "s"
  %y: f32[2,4,5,6]   = Add(%s, %t)  "y"
  %c: f32[2,4,6,6]   = Clip(%x)  "c"
  %z: f32[2,4,6,6]   = Add(%c, %t)  "z"
  %o: f32[2,4,6,6]   = Dropout(%x)  "o"
  %u: f32[2,4,6,6]   = Add(%o, %t)  "u"
  %q: f32[2,4,8,8]   = Pad(%x, %p)  "q"
  %v: f32[2,4,8,8]   = Add(%q, %t)  "v"
  %r: f32[2,4,12,12] = Resize(%x, _, %k)  "r"
  %w: f32[2,4,12,12] = Add(%r, %t)  "w"
}
