# A node around a branch stands for one inside it; two branches do not see each other, nodes with
# regions are left alone, and a default that is written out is a default.
-- args
print --passes=EliminateCommonSubexpr
-- in
graph g(%x: f32[4,4], %c: bool) -> %y, %z, %l, %m {
  %a = Exp(%x)                   "around"
  %y = If(%c)                    "if" then_branch {
    %t = Exp(%x)                 "inside"
    %n = Neg(%t)                 "one"
    yield %n
  } else_branch {
    %o = Neg(%a)                 "two"
    yield %o
  }
  %z = If(%c)                    "again" then_branch {
    %p = Neg(%a)                 "three"
    yield %p
  } else_branch {
    %q = Abs(%a)                 "four"
    yield %q
  }
  %j = LeakyRelu(%x)             "default"
  %k = LeakyRelu(%x) {alpha=0.01} "said"
  %l = Neg(%j)                   "l"
  %m = Abs(%k)                   "m"
}
-- out
graph g(%x: f32[4,4], %c: bool) -> %y, %z, %l, %m {
  %a: f32[4,4] = Exp(%x)  "around" from "around", "inside"
  %y: f32[4,4] = If(%c)  "if" then_branch uses %a {
    %n: f32[4,4] = Neg(%a)  "one"
    yield %n
  } else_branch uses %a {
    %o: f32[4,4] = Neg(%a)  "two"
    yield %o
  }
  %z: f32[4,4] = If(%c)  "again" then_branch uses %a {
    %p: f32[4,4] = Neg(%a)  "three"
    yield %p
  } else_branch uses %a {
    %q: f32[4,4] = Abs(%a)  "four"
    yield %q
  }
  %j: f32[4,4] = LeakyRelu(%x)  "default" from "default", "said"
  %l: f32[4,4] = Neg(%j)  "l"
  %m: f32[4,4] = Abs(%j)  "m"
}
