# Clip has two limits.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,2,8,8]) -> %y {
  %w: f32[3,2,3,3] = weight 0
  %y = com.microsoft.FusedConv(%x, %w) {activation="Clip", activation_params=[6]} "m"
}
-- err
-:3: node "m" (FusedConv): activation Clip needs two activation_params, its limits
