# A wrong option gets the nearest one of this verb.
-- args
print --pases=InferShapes model.onnx
-- err
print has no option --pases; did you mean --passes? (tilewright print --help shows all)
-- exit
2
