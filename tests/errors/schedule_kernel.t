# A script for a kernel that there is not.
-- args
compile -O2 --no-vendor -o $T/x.twb --schedule k7_y=$T/none
-- in
graph g(%x: f32[N,2]) -> %y {
  %y = Relu(%x) "r"
}
-- err
--schedule: no kernel is called 'k7_y'; `tilewright print --schedule` with the same options shows them all
