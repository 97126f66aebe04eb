#!/usr/bin/env python3
"""TensorRT as a subject of compare: tilewright compare m.onnx "cmd:python3 tensorrt.py m.onnx"

Needs tensorrt and torch, which holds the memory. Not tried here: there was no such GPU.
docs/compare.md says what is asked and answered.
"""
import pathlib
import sys
import time

import numpy as np
import tensorrt as trt
import torch

model, inputs, outputs, _ = sys.argv[1:5]


def path(folder, name):
    return pathlib.Path(folder) / (name.replace("/", "_") + ".npy")


logger = trt.Logger(trt.Logger.WARNING)
builder = trt.Builder(logger)
network = builder.create_network(0)
parser = trt.OnnxParser(network, logger)
if not parser.parse_from_file(model):
    sys.exit("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
config, profile = builder.create_builder_config(), builder.create_optimization_profile()
config.clear_flag(trt.BuilderFlag.TF32)  # f32, as the others
tensors = {}
for i in range(network.num_inputs):
    name = network.get_input(i).name
    tensors[name] = torch.from_numpy(np.load(path(inputs, name))).cuda()
    profile.set_shape(name, *[tuple(tensors[name].shape)] * 3)
config.add_optimization_profile(profile)
plan = builder.build_serialized_network(network, config)
engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
context, stream, results = engine.create_execution_context(), torch.cuda.Stream(), {}
for name, tensor in tensors.items():
    context.set_input_shape(name, tuple(tensor.shape))
for name in (engine.get_tensor_name(i) for i in range(engine.num_io_tensors)):
    if name not in tensors:
        kind = torch.from_numpy(np.empty(0, trt.nptype(engine.get_tensor_dtype(name)))).dtype
        shape = tuple(context.get_tensor_shape(name))
        tensors[name] = results[name] = torch.empty(shape, dtype=kind, device="cuda")
    context.set_tensor_address(name, tensors[name].data_ptr())

for word in sys.stdin:
    if word == "run\n":
        start = time.perf_counter_ns()
        context.execute_async_v3(stream.cuda_stream)
        stream.synchronize()
        print(time.perf_counter_ns() - start, flush=True)
    else:
        for name, result in results.items():
            np.save(path(outputs, name), result.cpu().numpy())
        print(0, flush=True)
