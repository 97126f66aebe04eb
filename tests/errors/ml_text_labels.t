# Labels that are text are refused, and the sentence says what to do.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3]) -> %y, %z {
  %y, %z = ai.onnx.ml.TreeEnsembleClassifier(%x) {nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[0,0,0], nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0], nodes_modes=["BRANCH_LEQ","LEAF","LEAF"], nodes_values=[0.5,0,0], class_treeids=[0,0], class_nodeids=[1,2], class_ids=[0,0], class_weights=[1,2], classlabels_strings=["no","yes"]} "m"
}
-- err
-:2: node "m" (TreeEnsembleClassifier): labels that are text (classlabels_strings) are not supported: train with numbers for classes, or keep the scores alone as outputs (onnx.utils.extract_model)
