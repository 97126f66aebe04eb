# What only one branch reads goes into it, what is before that, too, and into branches in it; what
# both read, or what follows, or the condition, stays, and so does what is random or a result.
-- args
print --passes=ToBasicBlockNormalForm
-- in
graph g(%c: bool, %d: bool, %x: f32[N,4]) -> %y, %z, %r {
  %a = Exp(%x)       "first"
  %b = Neg(%a)       "second"
  %e = Sqrt(%x)      "both"
  %f = Tanh(%x)      "later"
  %h = Abs(%x)       "yielded"
  %r = Sign(%x)      "result"
  %i = RandomUniformLike(%x) "random"
  %n = Not(%d)       "condition"
  %y = If(%n) then_branch {
    %s = If(%c) then_branch {
      %t = Mul(%b, %e)
      yield %t
    } else_branch {
      %u = Add(%e, %r)
      yield %u
    }
    yield %s
  } else_branch {
    %v = If(%c) then_branch {
      yield %h
    } else_branch {
      %w = Mul(%i, %e)
      yield %w
    }
    yield %v
  }
  %z = Add(%f, %y)
}
-- out
graph g(%c: bool, %d: bool, %x: f32[N,4]) -> %y, %z, %r {
  %e: f32[N,4] = Sqrt(%x)  "both"
  %f: f32[N,4] = Tanh(%x)  "later"
  %r: f32[N,4] = Sign(%x)  "result"
  %i: f32[N,4] = RandomUniformLike(%x)  "random"
  %n: bool     = Not(%d)  "condition"
  %y: f32[N,4] = If(%n) then_branch uses %c, %x, %e, %r {
    %s: f32[N,4] = If(%c) then_branch uses %x, %e {
      %a: f32[N,4] = Exp(%x)  "first"
      %b: f32[N,4] = Neg(%a)  "second"
      %t: f32[N,4] = Mul(%b, %e)
      yield %t
    } else_branch uses %e, %r {
      %u: f32[N,4] = Add(%e, %r)
      yield %u
    }
    yield %s
  } else_branch uses %c, %x, %i, %e {
    %v: f32[N,4] = If(%c) then_branch uses %x {
      %h: f32[N,4] = Abs(%x)  "yielded"
      yield %h
    } else_branch uses %i, %e {
      %w: f32[N,4] = Mul(%i, %e)
      yield %w
    }
    yield %v
  }
  %z: f32[N,4] = Add(%f, %y)
}
