"""What ONNX Runtime makes of a model, in a process of its own: it may end with a signal.

    python reference.py MODEL default|plain FOLDER...    (names, [results of each folder]) as a pickle

A folder holds the inputs, NAME.npy each. `plain` is without its optimiser.
"""

import pickle
import sys
from pathlib import Path


def main():
    import numpy as np
    import onnxruntime as ort

    path, how, *folders = sys.argv[1:]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if how == "plain":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names, results = [o.name for o in session.get_outputs()], []
    for folder in folders:
        feeds = {i.name: np.load(Path(folder) / f"{i.name}.npy") for i in session.get_inputs()}
        results.append(session.run(names, feeds))
    sys.stdout.buffer.write(pickle.dumps((names, results)))


main()
