# Two results of a library's call for bytes beside one another in a larger tensor, each in one block of
# all its channels: the way to the next block was taken for the way to the next channel.
graph fire(%x: f32[1,16,55,55]) -> %y {
  %w: i8[64,16,1,1] = weight 0
  %v: i8[64,16,3,3] = weight 1
  %u: i8[32,128,1,1] = weight 2
  %q, %s, %z = DynamicQuantizeLinear(%x)
  %a = ConvInteger(%q, %w, %z)
  %b = Cast(%a) {to=1}
  %c = Mul(%b, %s)
  %d = ConvInteger(%q, %v, %z) {pads=[1,1,1,1]}
  %e = Cast(%d) {to=1}
  %f = Mul(%e, %s)
  %g = Relu(%c)
  %l = Relu(%f)
  %h = Concat(%g, %l) {axis=1}
  %p, %t, %k = DynamicQuantizeLinear(%h)
  %i = ConvInteger(%p, %u, %k)
  %j = Cast(%i) {to=1}
  %y = Mul(%j, %t)
}
