# A Concat that another alone reads, along the same axis, becomes its parts; along another, or read by others, it stays.
-- args
print --passes=InferShapes,SimplifyShapeOf,DeadCodeElimination --verify=each
-- in
graph g(%a: f32[N,2,4], %b: f32[N,3,4], %c: f32[N,5,8], %i: i64[1], %j: i64[2]) -> %data, %twice, %other, %read, %shape, %deep {
  %ab = Concat(%a, %b) {axis=1}                "two"
  %data = Concat(%ab, %a) {axis=-2}            "and one"
  %bb = Concat(%b, %b) {axis=1}                "read twice"
  %twice = Concat(%bb, %bb) {axis=1}
  %wide = Concat(%b, %a) {axis=1}              "rows"
  %other = Concat(%wide, %c) {axis=2}          "columns"
  %read = Concat(%a, %a) {axis=1}              "an output"
  %deeper = Concat(%read, %b) {axis=1}
  %deepest = Concat(%b, %deeper) {axis=1}
  %deep = Concat(%deepest, %a, %deepest) {axis=1}
  %ij = Concat(%i, %j) {axis=0}                "computed sizes"
  %shape = Concat(%j, %ij) {axis=0}
}
-- out
graph g(%a: f32[N,2,4], %b: f32[N,3,4], %c: f32[N,5,8], %i: i64[1], %j: i64[2]) -> %data, %twice, %other, %read, %shape, %deep {
  %data: f32[N,7,4]     = Concat(%a, %b, %a) {axis=1}  "and one" from "and one", "two"
  %bb: f32[N,6,4]       = Concat(%b, %b) {axis=1}  "read twice"
  %twice: f32[N,12,4]   = Concat(%bb, %bb) {axis=1}
  %wide: f32[N,5,4]     = Concat(%b, %a) {axis=1}  "rows"
  %other: f32[N,5,12]   = Concat(%wide, %c) {axis=2}  "columns"
  %read: f32[N,4,4]     = Concat(%a, %a) {axis=1}  "an output"
  %deepest: f32[N,10,4] = Concat(%b, %read, %b) {axis=1}
  %deep: f32[N,22,4]    = Concat(%deepest, %a, %deepest) {axis=1}
  %shape: i64[5]        = Concat(%j, %i, %j) {axis=0} from "computed sizes"
}
