# seed 5
# The same of one sequence, going on by two: positions, bias, sink and softcap. Of padded rows nothing is asked.
graph g(%x: f32[2,5,64], %k: f32[2,5,32], %v: f32[2,5,32], %y: f32[1,2,64], %l: f32[1,2,32], %w: f32[1,2,32], %p: f32[1,2,3,16], %o: f32[1,2,3,16], %b: f32[1,4,2,5], %e: f32[1,2,8,16]) -> %a, %ak, %av, %c, %ck, %cv, %d, %dk, %dv, %f, %fk, %fv, %h, %hk, %hv, %i, %ik, %iv {
  %cos: f32[9,8] = weight 0
  %sin: f32[9,8] = weight 1
  %sink: f32[4] = weight 2
  %l42: i32[2] = {4, 2}
  %t5: i32 = {5}
  %l4: i32[1] = {4}
  %pos: i64[1,2] = {2, 7}
  %a, %ak, %av = com.microsoft.GroupQueryAttention(%x, %k, %v, _, _, %l42, %t5) {num_heads=4, kv_num_heads=2}
  %c, %ck, %cv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l4, %t5, %cos, %sin) {num_heads=4, kv_num_heads=2, do_rotary=1}
  %d, %dk, %dv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l4, %t5, %cos, %sin, %pos) {num_heads=4, kv_num_heads=2, do_rotary=1}
  %f, %fk, %fv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l4, %t5, _, _, _, _, %sink) {num_heads=4, kv_num_heads=2, softcap=1.5}
  %h, %hk, %hv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l4, %t5, _, _, _, %b, %sink) {num_heads=4, kv_num_heads=2, softcap=0.5}
  %i, %ik, %iv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l4, %t5, _, _, _, %b) {num_heads=4, kv_num_heads=2, softcap=0.5, smooth_softmax=1, local_window_size=2}
}
