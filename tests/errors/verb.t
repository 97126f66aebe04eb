# A wrong verb gets the nearest one.
-- args
compil model.onnx
-- err
there is no verb 'compil'; did you mean 'compile'? (tilewright --help shows all)
-- exit
2
