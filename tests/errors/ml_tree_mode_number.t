# A number of a comparison that is not known is refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y {
  %y = ai.onnx.ml.TreeEnsemble(%x) {n_targets=1, tree_roots=[0], nodes_modes=u8[1]{7}, nodes_splits=f32[1]{0.5}, nodes_featureids=[0], nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1], leaf_targetids=[0,0], leaf_weights=f32[2]{1, 2}} "m"
}
-- err
-:2: node "m" (TreeEnsemble): nodes_modes has 7, expected 0 to 6
