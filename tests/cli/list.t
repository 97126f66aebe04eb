# The lists, and what one row says.
-- args
list ops Relu
-- has
Relu(
max(
