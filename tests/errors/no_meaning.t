# Texts have no scalars: an operator that other types give a formula says so instead of crashing.
-- args
print -O0 --lower
-- in
graph g(%a: string[2], %b: string[2]) -> %y {
  %y = Equal(%a, %b)  "same"
}
-- err
-:2: node "same" (Equal): the operator is not computed for operands of these types
