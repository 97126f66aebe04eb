#!/usr/bin/env python3
"""TVM as a subject of compare: tilewright compare m.onnx "cmd:python3 tvm.py m.onnx"

Needs tvm with Relax, and onnx. Not tried here. docs/compare.md says what is asked and answered.
"""
import os
import pathlib
import sys
import time

script_folder = sys.path.pop(0)  # this file's name is the module's
model, inputs, outputs, threads = sys.argv[1:5]
os.environ["TVM_NUM_THREADS"] = threads

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def path(folder, name):
    return pathlib.Path(folder) / (name.replace("/", "_") + ".npy")


proto = onnx.load(model)
weights = {i.name for i in proto.graph.initializer}
names = [i.name for i in proto.graph.input if i.name not in weights]
arrays = {name: np.load(path(inputs, name)) for name in names}
module = from_onnx(proto, shape_dict={name: a.shape for name, a in arrays.items()})
module = relax.transform.DecomposeOpsForInference()(module)
machine = relax.VirtualMachine(relax.build(module, target="llvm -mcpu=native"), tvm.cpu())
arguments = [tvm.runtime.tensor(arrays[name]) for name in names]

for word in sys.stdin:
    if word == "run\n":
        start = time.perf_counter_ns()
        results = machine["main"](*arguments)
        print(time.perf_counter_ns() - start, flush=True)
    else:
        listed = [results] if hasattr(results, "numpy") else list(results)
        for output, result in zip(proto.graph.output, listed):
            np.save(path(outputs, output.name), result.numpy())
        print(0, flush=True)
