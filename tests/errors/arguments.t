# Too few files.
-- args
optimize in.onnx
-- err
optimize: OUT.onnx is missing; usage: tilewright optimize [options] IN.onnx OUT.onnx
-- exit
2
