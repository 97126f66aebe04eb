# What Slice takes for one element broadcasts behind it: its type says so from there on.
-- args
print --passes=InferShapes
-- in
graph g(%o: i64[N], %i: i64[1], %j: i64[1], %x: f32[8], %m: i64[1]) -> %row, %y {
  %at  = Slice(%o, %i, %j)  "at"
  %row = Slice(%x, %at, %m)  "row"
  %f   = Cast(%at) {to=1}  "cast"
  %y   = Add(%x, %f)  "add"
}
-- out
graph g(%o: i64[N], %i: i64[1], %j: i64[1], %x: f32[8], %m: i64[1]) -> %row, %y {
  symbol E1 in -2147483648..2147483647 = %j[0]
  symbol E2 in -2147483648..2147483647 = %i[0]
  symbol E3 in -2147483648..2147483647 = %m[0]
  symbol E4 in -2147483648..2147483647 = %at[0]
  assume max(0, min(N, E1-N*(E1/2147483648))-max(0, E2-N*(E2/2147483648))) == 1  "elements of starts, and expected ones"
  %at: i64[max(0, min(N, E1-N*(E1/2147483648))-max(0, E2-N*(E2/2147483648)))] = Slice(%o, %i, %j)  "at"
  %row: f32[max(0, min(8, E3-E3/2147483648*8)-max(0, E4-E4/2147483648*8))] = Slice(%x, %at, %m)  "row"
  %f: f32[1] = Cast(%at) {to=1}  "cast"
  %y: f32[8] = Add(%x, %f)  "add"
}
