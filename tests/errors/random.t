# Dropout that trains is refused: nothing draws its numbers.
-- args
print -O0 --lower
-- in
graph g(%x: f32[4], %ratio: f32, %train: bool) -> %y {
  %y = Dropout(%x, %ratio, %train)  "drop"
}
-- err
-:2: node "drop" (Dropout): the operator draws at random, which nothing computes yet
