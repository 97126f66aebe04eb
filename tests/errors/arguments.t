# Too few files.
-- args
optimize in.onnx
-- err
optimize writes one file: expected OUT.onnx or -o OUT.onnx, saw neither
-- exit
2
