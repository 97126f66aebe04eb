# A scalar is no shape and no list of bounds: what makes a vector of it stays, though nothing else
# reads its elements.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%k: f32[N], %x: f32[1], %w: f32[9]) -> %a, %b, %c, %d, %e {
  %zero: i64[1] = {0}
  %first: i64 = {0}
  %s = Shape(%k)
  %n = Gather(%s, %first)
  %v1 = Unsqueeze(%n, %zero)
  %a = ConstantOfShape(%v1)                       "a"
  %v2 = Unsqueeze(%n, %zero)
  %b = Expand(%x, %v2)                            "b"
  %v3 = Unsqueeze(%n, %zero)
  %c = Tile(%x, %v3)                              "c"
  %v4 = Unsqueeze(%n, %zero)
  %d = Slice(%w, %zero, %v4)                      "d"
  %one: i64[1] = {1}
  %v5 = Reshape(%n, %one)
  %e = Reshape(%k, %v5)                           "e"
}
-- out
graph g(%k: f32[N], %x: f32[1], %w: f32[9]) -> %a, %b, %c, %d, %e {
  %zero: i64[1] = {0}
  %first: i64   = {0}
  %s: i64[1]         = Shape(%k)
  %n: i64            = Gather(%s, %first)
  %v1: i64[1]        = Unsqueeze(%n, %zero)
  %a: f32[N]         = ConstantOfShape(%v1)  "a"
  %v2: i64[1]        = Unsqueeze(%n, %zero)
  %b: f32[N]         = Expand(%x, %v2)  "b"
  %v3: i64[1]        = Unsqueeze(%n, %zero)
  %c: f32[N]         = Tile(%x, %v3)  "c"
  %v4: i64[1]        = Unsqueeze(%n, %zero)
  %d: f32[min(N, 9)] = Slice(%w, %zero, %v4)  "d"
  %e: f32[N]         = Reshape(%k, %s)  "e"
}
