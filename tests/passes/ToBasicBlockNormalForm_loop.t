# What does not change in a body comes out of it, of two bodies at once, and before what reads it;
# not what changes, grows, or is random. What may fail comes out only where the body surely runs.
-- args
print --passes=ToBasicBlockNormalForm
-- in
graph g(%m: i64, %x: f32[4], %w: f32[8,4], %i: i64[2], %k: i32[4], %none: f32[0,4]) -> %p, %q, %r, %never, %rows {
  %yes: bool = {1}
  %three: i64 = {3}
  %eight: i64[2] = {8, 4}
  %p, %k1 = Loop(%m, %yes, %x, %k) body(%n, %b, %s, %j) {
    %e = Exp(%x)                 "steady"
    %f = Neg(%e)                 "behind it"
    %g = Add(%s, %f)             "changes"
    %l = Expand(%x, %eight)      "grows"
    %u = RandomUniformLike(%x)   "random"
    %o = Gather(%w, %i)          "may fail"
    %h = ReduceSum(%o) {keepdims=0}
    %v = Div(%k, %k)             "may be a quotient by 0"
    %t = Add(%g, %h)
    %t2 = Add(%t, %u)
    %l2 = ReduceSum(%l) {keepdims=0}
    %t3 = Add(%t2, %l2)
    yield %b, %t3, %v
  }
  %q = Loop(%three, %yes, %x) body(%n2, %b2, %s2) {
    %o2 = Gather(%w, %i)         "surely"
    %h2 = ReduceSum(%o2) {keepdims=0}         "sum"
    %t4 = Add(%s2, %h2)
    %in = Loop(%m, %yes, %t4) body(%n3, %b3, %s3) {
      %z = Tanh(%x)              "of two"
      %t5 = Mul(%s3, %z)
      yield %b3, %t5
    }
    yield %b2, %in
  }
  %last, %r = Scan(%x, %w) {num_scan_inputs=1} body(%d, %row) {
    %y = Gather(%w, %i)          "scanned surely"
    %y2 = ReduceSum(%y) {keepdims=0}
    %nx = Add(%d, %row)
    %ny = Add(%nx, %y2)
    yield %ny, %nx
  }
  %zero: i64 = {0}
  %never = Loop(%zero, %yes, %x) body(%n4, %b4, %s4) {
    %o4 = Gather(%w, %i)         "never"
    %h4 = ReduceSum(%o4) {keepdims=0}
    %t6 = Add(%s4, %h4)
    yield %b4, %t6
  }
  %end, %rows = Scan(%x, %none) {num_scan_inputs=1} body(%d5, %row5) {
    %y5 = Gather(%w, %i)         "no rows"
    %y6 = ReduceSum(%y5) {keepdims=0}
    %n5 = Add(%d5, %y6)
    yield %n5, %row5
  }
}
-- out
graph g(%m: i64, %x: f32[4], %w: f32[8,4], %i: i64[2], %k: i32[4], %none: f32[0,4]) -> %p, %q, %r, %never, %rows {
  %yes: bool     = {1}
  %three: i64    = {3}
  %eight: i64[2] = {8, 4}
  %zero: i64     = {0}
  %e: f32[4]                    = Exp(%x)  "steady"
  %f: f32[4]                    = Neg(%e)  "behind it"
  %p: f32[4], %k1: i32[4]       = Loop(%m, %yes, %x, %k) body(%n: i64, %b: bool, %s: f32[4], %j: i32[4]) uses %f, %x, %eight, %w, %i, %k {
    %g: f32[4]   = Add(%s, %f)  "changes"
    %l: f32[8,4] = Expand(%x, %eight)  "grows"
    %u: f32[4]   = RandomUniformLike(%x)  "random"
    %o: f32[2,4] = Gather(%w, %i)  "may fail"
    %h: f32      = ReduceSum(%o) {keepdims=0}
    %v: i32[4]   = Div(%k, %k)  "may be a quotient by 0"
    %t: f32[4]   = Add(%g, %h)
    %t2: f32[4]  = Add(%t, %u)
    %l2: f32     = ReduceSum(%l) {keepdims=0}
    %t3: f32[4]  = Add(%t2, %l2)
    yield %b, %t3, %v
  }
  %o2: f32[2,4]                 = Gather(%w, %i)  "surely"
  %h2: f32                      = ReduceSum(%o2) {keepdims=0}  "sum"
  %z: f32[4]                    = Tanh(%x)  "of two"
  %q: f32[4]                    = Loop(%three, %yes, %x) body(%n2: i64, %b2: bool, %s2: f32[4]) uses %h2, %m, %yes, %z {
    %t4: f32[4] = Add(%s2, %h2)
    %in: f32[4] = Loop(%m, %yes, %t4) body(%n3: i64, %b3: bool, %s3: f32[4]) uses %z {
      %t5: f32[4] = Mul(%s3, %z)
      yield %b3, %t5
    }
    yield %b2, %in
  }
  %y: f32[2,4]                  = Gather(%w, %i)  "scanned surely"
  %y2: f32                      = ReduceSum(%y) {keepdims=0}
  %last: f32[4], %r: f32[8,4]   = Scan(%x, %w) {num_scan_inputs=1} body(%d: f32[4], %row: f32[4]) uses %y2 {
    %nx: f32[4] = Add(%d, %row)
    %ny: f32[4] = Add(%nx, %y2)
    yield %ny, %nx
  }
  %never: f32[4]                = Loop(%zero, %yes, %x) body(%n4: i64, %b4: bool, %s4: f32[4]) uses %w, %i {
    %o4: f32[2,4] = Gather(%w, %i)  "never"
    %h4: f32      = ReduceSum(%o4) {keepdims=0}
    %t6: f32[4]   = Add(%s4, %h4)
    yield %b4, %t6
  }
  %end: f32[4], %rows: f32[0,4] = Scan(%x, %none) {num_scan_inputs=1} body(%d5: f32[4], %row5: f32[4]) uses %w, %i {
    %y5: f32[2,4] = Gather(%w, %i)  "no rows"
    %y6: f32      = ReduceSum(%y5) {keepdims=0}
    %n5: f32[4]   = Add(%d5, %y6)
    yield %n5, %row5
  }
}
