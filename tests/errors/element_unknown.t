# A sequence of which the model does not say what it holds.
-- args
print -O0
-- in
graph g(%x: seq(?), %i: i64) -> %y { %y = SequenceAt(%x, %i)  "at" }
-- err
-:1: node "at" (SequenceAt): the elements' type of input 0 is not known
