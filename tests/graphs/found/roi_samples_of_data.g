# As many samples of each region as it needs: constants, data, the largest, empty regions.
# seed 7
graph random(%x: f32[2,3,5,7], %r: f32[6,4], %x_1: f32[N,2,H,4], %r_1: f32[M,4]) -> %v, %v_1, %v_2, %v_3 {
  %b: i64[6] = {0, 1, 1, 0, 1, 0}
  %s: f32[6,4] = {0, 0, 6, 4, -20, 2, 30, 3, 2, 60, 4, 62, 5, 5, 3, 3, 1.5, 1, 1.5, 9, 0, 0, 2, 2}
  %z: i64[1] = {0}
  %o: i64[1] = {1}
  %d = Shape(%r_1) {end=1}
  %c = Expand(%z, %d)
  %v = RoiAlign(%x, %s, %b) {output_height=2, output_width=3}
  %v_1 = RoiAlign(%x, %r, %b) {output_height=1, output_width=2, spatial_scale=2.0}
  %v_2 = RoiAlign(%x, %s, %b) {mode="max", coordinate_transformation_mode="output_half_pixel", output_height=2, output_width=1}
  %v_3 = RoiAlign(%x_1, %r_1, %c) {mode="max", output_height=2, output_width=2}
}
