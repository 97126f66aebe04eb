# A file that is not there is the environment's fault.
-- args
print $T/nothing.onnx
-- exit
6
