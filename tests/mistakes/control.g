# If, Loop with two values that change places, Scan from behind with results from behind.
graph control(%c: bool, %x: f32[4,6], %y: f32[4,6], %k: f32[17,17]) -> %i, %p, %q, %a, %f, %o, %w {
  %z = Exp(%x)  "capture"
  %i = If(%c)  "if" then_branch {
    %t = Add(%z, %y)
    yield %t
  } else_branch {
    %u = Mul(%z, %x)
    yield %u
  }
  %j = Exp(%k)  "only in a branch"
  %l = If(%c)  "turn or not" then_branch {
    %tt = Transpose(%j) {perm=[1,0]}
    yield %tt
  } else_branch {
    %uu = Neg(%k)
    yield %uu
  }
  %w = Tanh(%l)  "after"
  %m: i64 = {6}
  %yes: bool = {1}
  %p, %q, %a = Loop(%m, %yes, %x, %y)  "loop" body(%number, %b, %g, %h) {
    %n = Add(%g, %h)
    %r = Mul(%n, %z)
    %s = Tanh(%r)
    yield %b, %h, %s, %n
  }
  %first: f32[6] = weight 0
  %f, %o = Scan(%first, %z) {num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1]}  "scan" body(%d, %e) {
    %v = Add(%d, %e)
    yield %v, %v
  }
}
