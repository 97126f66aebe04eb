# A gather by a known table in steady steps reads windows: borders are tests, and no table is read.
# One number that is no step keeps the table.
-- args
print --lower -O2 --target cpu:x86-64-v3 --no-vendor
-- in
graph t(%x: f32[2,70,4]) -> %y, %z {
  %i: i64[4,3] = {0,2,4,1,3,5,2,4,6,3,5,7}
  %k: i64[4,3] = {0,2,4,1,3,5,2,4,6,3,5,8}
  %p: i64[6] = {0,3,0,0,3,0}
  %t: f32[2,76,4] = Pad(%x, %p)        "pad"
  %y: f32[2,4,3,4] = Gather(%t, %i) {axis=1}  "steps"
  %z: f32[2,4,3,4] = Gather(%x, %k) {axis=1}  "table"
}
-- has
  kernel(%x, out %y)  "steps"
        let h1 = 0 <= i1+i2*2-3
          y[h0+i3] = h1 ? vx[h2+i3] : 0
  kernel(%k, %x, out %z)  "table"
