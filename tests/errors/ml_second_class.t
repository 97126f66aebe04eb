# Weights of the second of two classes alone mean nothing that is said.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y, %z {
  %y, %z = ai.onnx.ml.TreeEnsembleClassifier(%x) {nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[0,0,0], nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0], nodes_modes=["BRANCH_LEQ","LEAF","LEAF"], nodes_values=[0.5,0,0], class_treeids=[0,0], class_nodeids=[1,2], class_ids=[1,1], class_weights=[1,2], classlabels_int64s=[4,5]} "m"
}
-- err
-:2: node "m" (TreeEnsembleClassifier): weights for nothing but the second of two classes are not supported: ONNX does not say what they mean
