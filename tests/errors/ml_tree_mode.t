# A comparison that is not known is refused.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y {
  %y = ai.onnx.ml.TreeEnsembleRegressor(%x) {n_targets=1, nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[0,0,0], nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0], nodes_modes=["BRANCH_NO","LEAF","LEAF"], nodes_values=[0.5,0,0], target_treeids=[0,0], target_nodeids=[1,2], target_ids=[0,0], target_weights=[1,2]} "m"
}
-- err
-:2: node "m" (TreeEnsembleRegressor): nodes_modes has "BRANCH_NO", expected LEAF or BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ
