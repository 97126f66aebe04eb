#!/usr/bin/env python3
"""How far quantised models may differ, and whose result is ONNX's.

usage: bench/quantised.py [FOLDER]     (torch, torchvision, timm, onnx, onnxruntime; TILEWRIGHT)

Makes a small ViT quantised dynamically and a ResNet-34 quantised statically (Q/DQ) with ONNX
Runtime's tools, random weights, and compares, over several inputs at batch 1, 2 and 3:

    exact     onnx.reference, with convolutions summed in double
    moved     exact, its input changed by one part in a million
    ort off   ONNX Runtime without its optimiser
    ort       ONNX Runtime as it comes
    -O0, -O3  Tilewright

Each figure: the largest difference from `exact` in units of the largest output, its mean over
the inputs, and how many elements differ by more than one part in a million.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnxruntime.quantization import CalibrationDataReader, QuantFormat
from onnxruntime.quantization import quantize_dynamic, quantize_static

TILEWRIGHT = os.environ.get("TILEWRIGHT", "build/tilewright")
BATCHES, SEEDS = (1, 2, 3), range(5)


class Conv(OpRun):
    """Convolution, summed in double and rounded once."""

    op_domain = ""

    def _run(self, x, w, b=None, dilations=None, group=1, pads=None, strides=None, **_):
        x, w = (torch.from_numpy(np.asarray(a, np.float64)) for a in (x, w))
        n = len(w.shape) - 2
        pads = list(pads or [0] * 2 * n)
        around = [p for d in range(n - 1, -1, -1) for p in (pads[d], pads[n + d])]
        x = torch.nn.functional.pad(x, around)
        bias = None if b is None else torch.from_numpy(np.asarray(b, np.float64))
        y = torch.nn.functional.conv2d(x, w, bias, tuple(strides or [1] * n), 0,
                                       tuple(dilations or [1] * n), group)
        return (y.numpy().astype(np.float32),)


class Samples(CalibrationDataReader):
    def __init__(self):
        self.left = [{"x": image(1, seed)} for seed in range(100, 104)]

    def get_next(self):
        return self.left.pop() if self.left else None


def image(batch, seed):
    return np.random.default_rng(seed).standard_normal((batch, 3, 64, 64)).astype(np.float32)


def export(model, path):
    names = {"input_names": ["x"], "output_names": ["y"]}
    axes = {"x": {0: "N"}, "y": {0: "N"}}
    torch.onnx.export(model.eval(), (torch.randn(1, 3, 64, 64),), path, dynamic_axes=axes,
                      opset_version=19, dynamo=False, **names)


def make_vit(folder):
    from timm.models.vision_transformer import VisionTransformer
    model = VisionTransformer(img_size=64, patch_size=16, embed_dim=96, depth=3, num_heads=3,
                              num_classes=10)
    export(model, f"{folder}/vit.onnx")
    quantize_dynamic(f"{folder}/vit.onnx", f"{folder}/vit-dynamic.onnx")
    return f"{folder}/vit-dynamic.onnx"


def make_resnet(folder):
    from torchvision.models import resnet34
    model = resnet34(weights=None, num_classes=10)
    for norm in model.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.running_mean.normal_(0, 0.1)
            norm.running_var.uniform_(0.5, 1.5)
    export(model, f"{folder}/resnet34.onnx")
    quantize_static(f"{folder}/resnet34.onnx", f"{folder}/resnet34-qdq.onnx", Samples(),
                    quant_format=QuantFormat.QDQ)
    return f"{folder}/resnet34-qdq.onnx"


def runtime(path, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def ours(path, level, folder):
    bundle = f"{folder}/{level}.twb"
    subprocess.run([TILEWRIGHT, "compile", "-q", level, path, "-o", bundle], check=True)

    def run(x):
        with tempfile.TemporaryDirectory() as out:
            np.save(f"{out}/x.npy", x)
            subprocess.run([TILEWRIGHT, "run", "-q", "--runs", "1", "--input", f"x=@{out}/x.npy",
                            "--output", out, bundle], check=True)
            return np.load(f"{out}/y.npy")

    return run


def compare(path, folder):
    reference = ReferenceEvaluator(onnx.load(path), new_ops=[Conv])
    levels = ort.GraphOptimizationLevel
    ways = {
        "moved": lambda x: reference.run(None, {"x": x * np.float32(1 + 1e-6)})[0],
        "ort off": runtime(path, levels.ORT_DISABLE_ALL),
        "ort": runtime(path, levels.ORT_ENABLE_ALL),
        "-O0": ours(path, "-O0", folder),
        "-O3": ours(path, "-O3", folder),
    }
    print(os.path.basename(path))
    worst = {name: [] for name in ways}
    count = dict.fromkeys(ways, 0)
    elements = 0
    for batch in BATCHES:
        for seed in SEEDS:
            x = image(batch, seed)
            exact = reference.run(None, {"x": x})[0]
            scale = np.abs(exact).max()
            elements += exact.size
            for name, way in ways.items():
                error = np.abs(way(x).astype(np.float64) - exact) / scale
                worst[name].append(error.max())
                count[name] += int((error > 1e-6).sum())
    for name, errors in worst.items():
        print(f"  {name:8} largest {max(errors):8.2g}  mean {np.mean(errors):8.2g}"
              f"  differing {count[name]:3} of {elements}")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    torch.manual_seed(0)
    for make in (make_vit, make_resnet):
        compare(make(folder), folder)


main()
