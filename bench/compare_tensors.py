#!/usr/bin/env python3
"""Does compare --tensors name the tensor that a second way finds?

usage: bench/compare_tensors.py TILEWRIGHT [DIM=N ...] MODEL.onnx ...

Needs onnx, onnxruntime, numpy. Dims of inputs that have a name are 1, or as DIM=N says.

The base is ONNX Runtime. Here its values come from a copy of the model that onnx makes, whose
optimisations are off; those of the others from compare --output. For each other subject the tensor
that is farthest, relative to its largest element, must be the one that compare says, or as far.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

NUMBERS = {1: np.float32, 10: np.float16, 6: np.int32, 7: np.int64, 9: np.bool_, 2: np.uint8}


def make_inputs(model, sizes, folder):
    random, weights = np.random.default_rng(1), {w.name for w in model.graph.initializer}
    feed, words = {}, []
    for value in model.graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type
        shape = [d.dim_value or sizes.get(d.dim_param, 1) for d in kind.shape.dim]
        number = NUMBERS[kind.elem_type]
        is_float = np.issubdtype(number, np.floating)
        data = random.standard_normal(shape) if is_float else random.integers(0, 2, shape)
        feed[value.name] = np.asarray(data).astype(number)
        path = f"{folder}/in{len(feed)}.npy"
        np.save(path, feed[value.name])
        words.append(f"--input={value.name}=@{path}")
    return feed, words


def every_value(model, feed, folder):
    """All values of the model's nodes, by ONNX Runtime."""
    outputs = {o.name for o in model.graph.output}
    names = [n for node in model.graph.node for n in node.output if n and n not in outputs]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    path = f"{folder}/all.onnx"
    onnx.save(model, path, save_as_external_data=model.ByteSize() > 1 << 30)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def distances(base, folder):
    found = {}
    for name, a in base.items():
        path = folder / (name.replace("/", "_") + ".npy")
        if not path.exists() or not np.issubdtype(a.dtype, np.number):
            continue
        b = np.load(path)
        is_float = np.issubdtype(a.dtype, np.floating) and np.issubdtype(b.dtype, np.floating)
        if b.shape != a.shape or a.size == 0 or not (is_float or a.dtype == b.dtype):
            continue
        largest = np.abs(a.astype(np.float64)).max()
        worst = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
        found[name] = worst / largest if largest > 0 else worst
    return found


def check(tool, sizes, path):
    with tempfile.TemporaryDirectory() as folder:
        model = onnx.load(path)
        feed, words = make_inputs(model, sizes, folder)
        subjects = [f"{path}/ort"] + [f"{path}@O{level}" for level in (0, 2, 3)]
        if os.environ.get("OPENVINO_LIBRARY"):
            subjects.append(f"{path}/openvino")
        said = subprocess.run(
            [tool, "compare", "--rounds=0", "--json", "--tensors", f"--output={folder}/out"]
            + words + subjects, capture_output=True, text=True)
        if said.returncode:
            print(f"{path}: {said.stderr.strip()}")
            return False
        parts = json.loads(said.stdout)["parts"]
        base = every_value(model, feed, folder)
        good = True
        for i, part in enumerate(parts):
            found = distances(base, pathlib.Path(folder) / "out" / str(i + 1))
            worst = max(found, key=found.get)
            same = worst == part["worst"] or found[worst] <= found.get(part["worst"], -1) * (1 + 1e-6)
            good = good and same
            print(f"{'agree' if same else 'DIFFER'}  {pathlib.Path(path).name}"
                  f"{part['subject'][len(path):]}  {part['tensors']} tensors, {part['differ']} differ, "
                  f"worst {part['worst']} {found.get(part['worst'], -1):.1e}"
                  + ("" if same else f"; here {worst} {found[worst]:.1e}"), flush=True)
        return good


def main():
    words = [word.split("=") for word in sys.argv[2:] if "=" in word]
    sizes = {name: int(size) for name, size in words}
    good = [check(sys.argv[1], sizes, path) for path in sys.argv[2:] if "=" not in path]
    sys.exit(0 if all(good) else 1)


main()
