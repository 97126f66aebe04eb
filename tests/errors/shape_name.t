# --shape with a name the model does not have.
-- args
print -O1 --lower --shape M=3
-- in
graph g(%x: f32[N,2]) -> %y {
  %y: f32[N,2] = Relu(%x)
}
-- err
--shape: 'M' is neither an input nor a symbol; inputs: x: f32[N,2]; symbols: N
-- exit
2
