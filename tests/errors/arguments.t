# Too few files.
-- args
optimize in.onnx
-- err
usage: tilewright optimize [options] IN.onnx OUT.onnx; try: tilewright optimize --help
-- exit
2
