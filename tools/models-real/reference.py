"""What ONNX Runtime makes of a model, in a process of its own: it may end with a signal.

    python reference.py MODEL default|plain|standard FOLDER...

prints (names, [results of each folder]) as a pickle. A folder holds the inputs, NAME.npy each.
`plain` is without its optimiser; `standard` asks the evaluator of the onnx package instead.
"""

import pickle
import sys
from pathlib import Path


def runtime(path, how):
    """Names of inputs and of outputs, and a function from the ones to the others."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if how == "plain":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return [i.name for i in session.get_inputs()], names, lambda feeds: session.run(names, feeds)


def standard(path):
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(path)
    names = [o.name for o in model.graph.output]
    evaluator = ReferenceEvaluator(model)
    inputs = [i.name for i in model.graph.input]
    return inputs, names, lambda feeds: evaluator.run(names, feeds)


def main():
    import numpy as np

    path, how, *folders = sys.argv[1:]
    inputs, names, run = standard(path) if how == "standard" else runtime(path, how)
    results = []
    for folder in folders:
        files = {name: Path(folder) / f"{name}.npy" for name in inputs}
        results.append(run({name: np.load(file) for name, file in files.items() if file.exists()}))
    sys.stdout.buffer.write(pickle.dumps((names, results)))


main()
