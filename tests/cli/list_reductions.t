# Reductions of expressions, with the result over no terms.
-- args
list reductions
-- has
sum  
argmax first
lowest; 0
