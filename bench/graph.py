#!/usr/bin/env python3
"""Models as optimize, onnxsim and onnxslim leave them, in ONNX Runtime.

usage: bench/graph.py [--work FOLDER] [--seconds S] FOLDER|MODEL ...
       (make bench-graph; onnx, onnxruntime, onnxsim, onnxslim; TILEWRIGHT)

A folder is searched for model.onnx, as tools/models-real leaves them; inputs are those of inputs_0
beside the form's folder, else made up (2 for each open dim). Of each model, of what came and of the
three, it prints:

    nodes       that are no views: all but Constant, Identity, Reshape, Flatten, Squeeze, Unsqueeze;
                those of branches and bodies count, functions are inlined before
    off, on     CPU ms of a run in ONNX Runtime, one thread, without and with its own optimisations:
                the least of some runs, of which all four take turns
    apart       the largest difference of ours from what came, by the largest element

"-" stands where a tool, or ONNX Runtime with what it made, failed, or its outputs are others (1e-4).
"""
import argparse
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort

TILEWRIGHT = os.environ.get("TILEWRIGHT", "build/tilewright")
VIEWS = {"Constant", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
TOOLS = {
    "ours": lambda a, b: [TILEWRIGHT, "optimize", "-q", a, b],
    "onnxsim": lambda a, b: [sys.executable, "-m", "onnxsim", a, b],
    "onnxslim": lambda a, b: [sys.executable, "-m", "onnxslim", a, b],
}
NAMES = ["original", *TOOLS]
SECONDS, ALLOWED = 300, 1e-4


def count(graph):
    total = sum(node.op_type not in VIEWS for node in graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            total += count(attribute.g) if attribute.HasField("g") else 0
    return total


def nodes_of(path):
    model = onnx.load(path, load_external_data=False)
    return count(onnx.inliner.inline_local_functions(model).graph)


def inputs_of(path, session):
    folder, made = path.parent.parent / "inputs_0", {}
    random = np.random.default_rng(0)
    for one in session.get_inputs():
        if (folder / f"{one.name}.npy").exists():
            made[one.name] = np.load(folder / f"{one.name}.npy")
            continue
        dims = [d if isinstance(d, int) else 2 for d in one.shape]
        is_float = "float" in one.type or "double" in one.type
        kind = {"tensor(float16)": np.float16, "tensor(double)": np.float64,
                "tensor(int32)": np.int32, "tensor(bool)": np.bool_}.get(
                    one.type, np.float32 if is_float else np.int64)
        made[one.name] = (random.standard_normal(dims) if is_float else np.ones(dims)).astype(kind)
    return made


def open_session(path, is_on):
    options = ort.SessionOptions()
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if is_on else level.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def apart(expected, seen):
    worst = 0.0
    for a, b in zip(expected, seen):
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        if a.size == 0 or a.dtype.kind not in "fiub":
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=0) or 1
        worst = max(worst, np.max(np.where(same, 0, np.abs(a - b)), initial=0) / largest)
    return worst


def least_times(sessions, inputs, seconds):
    """CPU ms of each, in turns; ONNX Runtime has one thread, which is this one."""
    times = {name: math.inf for name in sessions}
    end = time.monotonic() + seconds
    while time.monotonic() < end or any(math.isinf(t) for t in times.values()):
        for name, session in sessions.items():
            start = time.process_time()
            session.run(None, inputs)
            times[name] = min(times[name], (time.process_time() - start) * 1e3)
    return times


def try_session(path, is_on):
    try:
        return open_session(path, is_on)
    except Exception:  # whatever it throws, it does not load
        return None


def make_all(path, work):
    """What there is to compare, by name."""
    paths = {"original": path}
    for name, command in TOOLS.items():
        made = work / f"{name}.onnx"
        for old in work.glob(f"{name}.onnx*"):
            old.unlink()
        try:
            done = subprocess.run(command(str(path), str(made)), capture_output=True,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0 and made.exists():
            paths[name] = made
    return paths


def measure(path, work, seconds):
    row = {name: {} for name in NAMES}
    paths = make_all(path, work)
    for way in ("off", "on"):
        sessions = {n: s for n, p in paths.items() if (s := try_session(p, way == "on"))}
        if "original" not in sessions:
            row["original"]["note"] = "ONNX Runtime does not load it"
            continue
        inputs = inputs_of(path, sessions["original"])
        expected = sessions["original"].run(None, inputs)
        for name in list(sessions):
            try:
                far = apart(expected, sessions[name].run(None, inputs))
            except Exception:  # it fails when run
                far = math.inf
            row[name]["apart"] = max(far, row[name].get("apart", 0))
            if far > ALLOWED:
                del sessions[name]
        for name, ms in least_times(sessions, inputs, seconds).items():
            row[name][way] = ms
    for name, made in paths.items():
        if "off" in row[name] or "on" in row[name]:
            row[name]["nodes"] = nodes_of(made)
    return row


def found(arguments):
    for argument in map(Path, arguments):
        yield from sorted(argument.rglob("model.onnx")) if argument.is_dir() else [argument]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def text(row, name, key, form):
    value = row[name].get(key)
    return "-" if value is None else format(value, form)


def show(title, row):
    cells = [text(row, n, "nodes", "d") for n in NAMES]
    for way in ("off", "on"):
        cells += [text(row, n, way, ".3f") for n in NAMES]
    print(f"| {title} | {' | '.join(cells)} | {text(row, 'ours', 'apart', '.0e')} |", flush=True)


def summary(rows):
    counted = [r for r in rows if "nodes" in r["ours"]]
    others = [(r["ours"]["nodes"], min((r[n]["nodes"] for n in ("onnxsim", "onnxslim")
                                        if "nodes" in r[n]), default=math.inf)) for r in counted]
    few = sum(a <= b for a, b in others)
    print(f"\n{len(rows)} models, {len(counted)} of ours load and are equal; nodes no more than "
          f"the better of the two on {few}")
    for way in ("off", "on"):
        for other in ("original", "onnxsim", "onnxslim"):
            ratios = [r[other][way] / r["ours"][way] for r in rows
                      if way in r[other] and way in r["ours"]]
            if ratios:
                print(f"{way}: {other} takes {mean(ratios):.3f} times as long as ours "
                      f"({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} models)")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+")
    parser.add_argument("--work", default="build/bench-graph", help="where models are made")
    parser.add_argument("--seconds", type=float, default=0.5, help="for the turns of a model")
    args = parser.parse_args()
    work, rows = Path(args.work), []
    work.mkdir(parents=True, exist_ok=True)
    columns = [f"{n} {k}" for k in ("nodes", "off", "on") for n in NAMES]
    print("| model | " + " | ".join(columns) + " | apart |\n" + "|---" * (len(columns) + 2) + "|")
    for path in found(args.subjects):
        title = "/".join(path.parts[-3:-1])
        rows.append(measure(path, work, args.seconds))
        show(title, rows[-1])
    summary(rows)


if __name__ == "__main__":
    main()
