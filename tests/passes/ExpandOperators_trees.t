# Trees are a table, leaves first: a step looks up what follows, and leaves follow themselves. What is
# equal to 2 is not above 2 and above the number before; members of a set are searched.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3], %z: f64[N,2]) -> %y, %l, %s, %t {
  %y = ai.onnx.ml.TreeEnsembleRegressor(%x) {n_targets=1, nodes_treeids=[0,0,0,4], nodes_nodeids=[0,1,2,0], nodes_featureids=[2,0,0,0], nodes_truenodeids=[1,0,0,0], nodes_falsenodeids=[2,0,0,0], nodes_modes=["BRANCH_EQ","LEAF","LEAF","LEAF"], nodes_values=[2,0,0,0], target_treeids=[0,0,4], target_nodeids=[1,2,0], target_ids=[0,0,0], target_weights=[1,2,8], aggregate_function="MAX", base_values=[0.5]} "equal"
  %l, %s = ai.onnx.ml.TreeEnsembleClassifier(%x) {nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[2,0,0], nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0], nodes_modes=["BRANCH_LEQ","LEAF","LEAF"], nodes_values=[2,0,0], class_treeids=[0,0], class_nodeids=[1,2], class_ids=[0,0], class_weights=[0.25,0.75], classlabels_int64s=[4,6]} "two"
  %t = ai.onnx.ml.TreeEnsemble(%z) {n_targets=2, tree_roots=[0], nodes_modes=u8[1]{6}, nodes_splits=f64[1]{0}, nodes_featureids=[1], nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1], leaf_targetids=[0,1], leaf_weights=f64[2]{1, 2}, membership_values=f64[4]{7, 3, 5, nan}, nodes_missing_value_tracks_true=[1]} "members"
}
-- out
graph g(%x: f32[N,3], %z: f64[N,2]) -> %y, %l, %s, %t {
  %step: i64[2]               = {3, 2}
  %features: i32[5]           = {0, 0, 0, 2, 2}
  %splits: f32[5]             = weight 2
  %next: i32[10]              = {0, 0, 1, 1, 2, 2, 4, 1, 1, 0}
  %weights: f32[3,1]          = weight 4
  %step_2: f32                = {-inf}
  %step_4: f32                = {0}
  %base_values: f32[1]        = {0.5}
  %step_7: i64[1]             = {2}
  %features_8: i32[3]         = {0, 0, 2}
  %splits_9: f32[3]           = weight 10
  %next_10: i32[6]            = {0, 0, 1, 1, 0, 1}
  %weights_12: f32[2,1]       = {0.25, 0.75}
  %step_14: f32               = {0.5}
  %step_16: i64[1]            = {1}
  %step_19: f32               = {1}
  %classlabels_int64s: i64[2] = {4, 6}
  %step_23: i64[1]            = {2}
  %features_24: i32[10]       = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1}
  %splits_25: f64[10]         = weight 19
  %next_26: i32[30]           = weight 20
  %weights_28: f64[2,2]       = weight 21
  %v: i64[N,2]     = Expression(%step, %features, %splits, %next, %x) {expr="expr trees(S: i64[T], F: i32[K], V: f32[K], C: i32[2*K], X: f32[N,D]) -> Y {\n  Y[n:N, t:T]: i64 = let $0 = S[t]; let $1 = X[n, at(i64(F[at($0, 0..K)]), 0..D)]; let $2 = i64(C[at(2*$0 + ($1 <= V[at($0, 0..K)] ? 0 : 1), 0..2*K)]); let $3 = X[n, at(i64(F[at($2, 0..K)]), 0..D)]; let $4 = i64(C[at(2*$2 + ($3 <= V[at($2, 0..K)] ? 0 : 1), 0..2*K)]); $4\n}\n"}  "equal"
  %v_1: f32[N,1]   = Expression(%v, %weights) {expr="expr scores(S: i64[N,T], W: f32[L,M]) -> Y {\n  Y[n:N, m:M]: f32 = max(t:T) W[at(S[n, t], 0..L), m]\n}\n"}  "equal"
  %v_3: bool[N,1]  = Equal(%v_1, %step_2)  "equal"
  %v_5: f32[N,1]   = Where(%v_3, %step_4, %v_1)  "equal"
  %y: f32[N,1]     = Add(%v_5, %base_values)  "equal"
  %v_11: i64[N,1]  = Expression(%step_7, %features_8, %splits_9, %next_10, %x) {expr="expr trees(S: i64[T], F: i32[K], V: f32[K], C: i32[2*K], X: f32[N,D]) -> Y {\n  Y[n:N, t:T]: i64 = let $0 = S[t]; let $1 = X[n, at(i64(F[at($0, 0..K)]), 0..D)]; let $2 = i64(C[at(2*$0 + ($1 <= V[at($0, 0..K)] ? 0 : 1), 0..2*K)]); $2\n}\n"}  "two"
  %v_13: f32[N,1]  = Expression(%v_11, %weights_12) {expr="expr scores(S: i64[N,T], W: f32[L,M]) -> Y {\n  Y[n:N, m:M]: f32 = sum(t:T) W[at(S[n, t], 0..L), m]\n}\n"}  "two"
  %v_15: bool[N,1] = Greater(%v_13, %step_14)  "two"
  %v_17: i64[N,1]  = Cast(%v_15) {to=7}  "two"
  %v_18: i64[N]    = Squeeze(%v_17, %step_16)  "two"
  %v_20: f32[N,1]  = Sub(%step_19, %v_13)  "two"
  %s: f32[N,2]     = Concat(%v_20, %v_13) {axis=1}  "two"
  %l: i64[N]       = Gather(%classlabels_int64s, %v_18)  "two"
  %v_27: i64[N,1]  = Expression(%step_23, %features_24, %splits_25, %next_26, %z) {expr="expr trees(S: i64[T], F: i32[K], V: f64[K], C: i32[3*K], X: f64[N,D]) -> Y {\n  Y[n:N, t:T]: i64 = let $0 = S[t]; let $1 = X[n, at(i64(F[at($0, 0..K)]), 0..D)]; let $2 = i64(C[at(3*$0 + ($1 <= V[at($0, 0..K)] ? 0 : 1) + (isnan($1) ? 1 : 0), 0..3*K)]); let $3 = X[n, at(i64(F[at($2, 0..K)]), 0..D)]; let $4 = i64(C[at(3*$2 + ($3 <= V[at($2, 0..K)] ? 0 : 1) + (isnan($3) ? 1 : 0), 0..3*K)]); let $5 = X[n, at(i64(F[at($4, 0..K)]), 0..D)]; let $6 = i64(C[at(3*$4 + ($5 <= V[at($4, 0..K)] ? 0 : 1) + (isnan($5) ? 1 : 0), 0..3*K)]); let $7 = X[n, at(i64(F[at($6, 0..K)]), 0..D)]; let $8 = i64(C[at(3*$6 + ($7 <= V[at($6, 0..K)] ? 0 : 1) + (isnan($7) ? 1 : 0), 0..3*K)]); $4 < 2 ? $4 : $8\n}\n"}  "members"
  %t: f64[N,2]     = Expression(%v_27, %weights_28) {expr="expr scores(S: i64[N,T], W: f64[L,M]) -> Y {\n  Y[n:N, m:M]: f64 = sum(t:T) W[at(S[n, t], 0..L), m]\n}\n"}  "members"
}
