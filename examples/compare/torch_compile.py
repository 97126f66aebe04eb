#!/usr/bin/env python3
"""torch.compile as a subject: tilewright compare m.onnx "cmd:python3 torch_compile.py m.py"

m.py defines model() -> torch.nn.Module, `inputs`: the ONNX model's names of what forward() takes,
in order, and `outputs`: its names of what that returns. docs/compare.md says what is asked and
answered.
"""
import pathlib
import runpy
import sys
import time

import numpy as np
import torch

script, inputs, outputs, threads = sys.argv[1:5]
torch.set_num_threads(int(threads))
given = runpy.run_path(script)


def path(folder, name):
    return pathlib.Path(folder) / (name.replace("/", "_") + ".npy")


arguments = [torch.from_numpy(np.load(path(inputs, name))) for name in given["inputs"]]
model = torch.compile(given["model"]().eval())
with torch.no_grad():
    for word in sys.stdin:
        if word == "run\n":
            start = time.perf_counter_ns()
            results = model(*arguments)
            print(time.perf_counter_ns() - start, flush=True)
        else:
            results = results if isinstance(results, (tuple, list)) else [results]
            for name, result in zip(given["outputs"], results):
                np.save(path(outputs, name), result.numpy())
            print(0, flush=True)
