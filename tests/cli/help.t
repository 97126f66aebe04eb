# Help of a verb teaches with examples.
-- args
optimize --help
-- has
usage: tilewright optimize [options] IN.onnx [OUT.onnx]
  tilewright optimize resnet18.onnx -o fast.onnx
  -O, --level N
