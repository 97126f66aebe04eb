# seed 5
# Attention of groups of heads: prompts, a past, one with room, shorter sequences, tables of angles, a window.
graph g(%x: f32[2,5,64], %k: f32[2,5,32], %v: f32[2,5,32], %y: f32[2,1,64], %l: f32[2,1,32], %w: f32[2,1,32], %p: f32[2,2,3,16], %o: f32[2,2,3,16], %n: f32[2,1,128], %b: f32[1,4,1,4], %e: f32[2,2,8,16]) -> %a, %ak, %av, %c, %ck, %cv, %d, %f, %fk, %fv, %h, %i, %ik, %iv, %j, %jk, %q, %qk, %jv, %qv {
  %cos: f32[9,8] = weight 0
  %sin: f32[9,8] = weight 1
  %l4: i32[2] = {4, 4}
  %t5: i32 = {5}
  %l3: i32[2] = {3, 3}
  %l31: i32[2,1] = {3, 1}
  %t4: i32[1] = {4}
  %l6: i32[2] = {6, 2}
  %t7: i32 = {7}
  %a, %ak, %av = com.microsoft.GroupQueryAttention(%x, %k, %v, _, _, %l4, %t5) {num_heads=4, kv_num_heads=2}
  %c, %ck, %cv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l3, %t4, %cos, %sin) {num_heads=4, kv_num_heads=2, do_rotary=1, scale=0.7}
  %d, %dk, %dv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l31, %t4, %cos, %sin) {num_heads=4, kv_num_heads=2, do_rotary=1, rotary_interleaved=1}
  %f, %fk, %fv = com.microsoft.GroupQueryAttention(%n, _, _, %p, %o, %l3, %t4) {num_heads=4, kv_num_heads=2, softcap=1.5}
  %h, %hk, %hv = com.microsoft.GroupQueryAttention(%y, %l, %w, %e, %e, %l6, %t7) {num_heads=4, kv_num_heads=2, local_window_size=2}
  %i, %ik, %iv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l3, %t4, _, _, _, %b) {num_heads=4, kv_num_heads=2}
  %j, %jk, %jv = com.microsoft.GroupQueryAttention(%x, %k, %v, _, _, %l4, %t5) {num_heads=4, kv_num_heads=2, local_window_size=1}
  %q, %qk, %qv = com.microsoft.GroupQueryAttention(%y, %l, %w, %p, %o, %l3, %t4, %cos, %sin) {num_heads=4, kv_num_heads=2, do_rotary=1}
}
