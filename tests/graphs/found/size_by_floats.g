# Sides that divisions, minima and roundings of floats decide: what a detector's resizing exports.
graph g(%x: f32[1,2,H,W]) -> %y, %z {
  %shape  = Shape(%x) {start=2}
  %sides  = Cast(%shape) {to=1}
  %six: f32[2]  = {6, 6}
  %nine: f32[2] = {9, 9}
  %one: f32[2]  = {1, 1}
  %down   = Div(%one, %sides)
  %ratio  = Mul(%down, %nine)
  %six_of = Div(%six, %sides)
  %least  = Min(%ratio, %six_of)
  %new    = Mul(%sides, %least)
  %low    = Floor(%new)
  %high   = Ceil(%new)
  %sizes  = Cast(%low) {to=7}
  %larger = Cast(%high) {to=7}
  %y = Resize(%x, _, _, %sizes) {mode="linear", axes=[2,3]}
  %z = Resize(%x, _, _, %larger) {axes=[2,3]}
}
