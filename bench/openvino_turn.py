#!/usr/bin/env python3
"""One turn of OpenVINO at a model: the median of its runs, in ms.

usage: bench/openvino_turn.py MODEL.onnx THREADS     (openvino, numpy; onnx for models with functions)

THREADS 0 is as many as OpenVINO takes by itself. Exits with 77 when there is no openvino.
"""
import sys
import time

SECONDS, LEAST_RUNS = 0.5, 3

try:
    import numpy as np
    import openvino
except ImportError as missing:
    print(f"no OpenVINO: {missing}", file=sys.stderr)
    sys.exit(77)


def read(core, path):
    """The model, its functions inlined where it has some: OpenVINO does not know them."""
    try:
        import onnx
        import onnx.inliner
    except ImportError:
        return core.read_model(path)
    model = onnx.load(path)
    if not model.functions:
        return core.read_model(path)
    return core.read_model(onnx.inliner.inline_local_functions(model).SerializeToString())


def main():
    path, threads = sys.argv[1], int(sys.argv[2])
    core = openvino.Core()
    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    if threads:
        config["INFERENCE_NUM_THREADS"] = threads
    compiled = core.compile_model(read(core, path), "CPU", config)
    request = compiled.create_infer_request()
    random = np.random.default_rng(0)
    inputs = {i.any_name: random.standard_normal(tuple(i.shape)).astype(np.float32)
              for i in compiled.inputs}
    request.infer(inputs)
    times, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < LEAST_RUNS:
        start = time.perf_counter()
        request.infer(inputs)
        times.append(time.perf_counter() - start)
    print(f"{sorted(times)[len(times) // 2] * 1e3:.4f}")


main()
