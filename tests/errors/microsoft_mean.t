# A result that no line of the row gives is refused with a sentence.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,S,8], %w: f32[8]) -> %y, %z {
  %y, %z = com.microsoft.SkipLayerNormalization(%x, %x, %w) "m"
}
-- err
-:2: node "m" (SkipLayerNormalization): the result mean is not supported
