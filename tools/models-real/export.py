"""Export models, each in a process of its own, because exporters crash and keep memory.

For each form a folder appears with model.onnx; for each size, beside the inputs, what PyTorch
computes. What an exporter refuses is written to refused.txt: it is no fault of ours, and is not
tried again.
"""

import os
import re
import signal
import sys
import tempfile
import warnings
from pathlib import Path

EXPORTED, REFUSED = "model.onnx", "refused.txt"
SECONDS = 900  # for one model
DERIVED = {"int8", "qdq", "external"}


def done(folder):
    return (folder / EXPORTED).exists() or (folder / REFUSED).exists()


def export_model(model, root, wanted):
    """Those forms of a row that are not there yet; quantised ones are made from another."""
    wanted = [*(["script-dynamic"] if set(wanted) & DERIVED else []), *wanted]
    forms = [f for f in dict.fromkeys(wanted) if not done(root / f)]
    if not forms:
        return
    import torch

    from models import perturb

    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    module = model.make()
    if not isinstance(module, torch.jit.ScriptModule):
        module = perturb(module.eval())
    inputs = save_inputs(model, root)
    save_outputs(module, inputs, root / "outputs")
    for form in forms:
        folder = root / form
        folder.mkdir(parents=True, exist_ok=True)
        try:
            make_form(model, module, inputs, folder, form)
        except Exception as error:  # whatever an exporter throws is its refusal
            for part in folder.iterdir():
                part.unlink()
            (folder / REFUSED).write_text(f"{type(error).__name__}: {heart(str(error))}\n")


def heart(text):
    """What the newer exporter says behind its advice."""
    return text.split("## Exception summary")[-1].strip()


def save_inputs(model, root):
    """The inputs of each size as tensors; written as inputs_0/NAME.npy … on the way."""
    import numpy as np
    import torch

    all_inputs = []
    for size in range(model.runs("")):
        folder = root / f"inputs_{size}"
        folder.mkdir(parents=True, exist_ok=True)
        tensors = []
        for one in model.inputs:
            array = one.array(model.name, size, model.all_sizes())
            np.save(folder / f"{one.name}.npy", array)
            tensors.append(torch.from_numpy(array))
        all_inputs.append(tuple(tensors))
    return all_inputs


def save_outputs(module, inputs, base):
    import numpy as np

    from models import flat

    for size, tensors in enumerate(inputs):
        folder = Path(f"{base}_{size}")
        folder.mkdir(parents=True, exist_ok=True)
        for i, tensor in enumerate(flat(module(*tensors))):
            np.save(folder / f"{i}.npy", tensor.detach().numpy())


def make_form(model, module, inputs, folder, form):
    path = folder / EXPORTED
    if form in ("half", "bfloat16"):
        run_exporter(model, narrow(module, form, model), inputs[0], path, True, True)
    elif form in ("int8", "qdq"):
        quantize(model, folder, form)
    elif form == "inputs":  # weights that a caller may give
        run_exporter(
            model, module, inputs[0], path, False, True, keep_initializers_as_inputs=True
        )
    elif form == "external":
        outside(folder.parent / "script-dynamic" / EXPORTED, path)
    else:
        exporter, dims = form.split("-")
        how = (exporter == "dynamo", dims == "dynamic")
        if model.parts:
            export_merged(model, module, inputs, path, *how)
        else:
            run_exporter(model, module, inputs[0], path, *how)


def export_merged(model, module, inputs, path, *how):
    """Both parts as files of their own, for a look at them, and merged."""
    from merge import merge_decoders

    names, files = [i.name for i in model.inputs], []
    for part, size in model.parts(module):
        given = dict(zip(names, inputs[size]))
        files.append(path.with_name(f"part_{part.name}.onnx"))
        chosen = tuple(given[i.name] for i in part.inputs)
        run_exporter(part, part.make(), chosen, files[-1], *how)
    merge_decoders(*files, {i.name: i.dims for i in model.inputs}, path)


def axes_of(tensors):
    return {t.name: {a: d for a, d in enumerate(t.dims) if isinstance(d, str)} for t in tensors}


def run_exporter(model, module, inputs, path, is_dynamo, is_dynamic, **settings):
    import torch

    settings["input_names"] = [i.name for i in model.inputs]
    if model.outputs:
        settings["output_names"] = [o.name for o in model.outputs]
    if model.opset:
        settings["opset_version"] = model.opset
    if is_dynamic and is_dynamo:  # it takes identifiers only
        settings["dynamic_shapes"] = tuple(
            {a: re.sub(r"\W+", "_", d) for a, d in axes.items()}
            for axes in axes_of(model.inputs).values()
        )
    elif is_dynamic:
        settings["dynamic_axes"] = axes_of(model.inputs + model.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), dynamo=is_dynamo, **settings)


def narrow(module, form, model):
    """The module in 16 bits with inputs and outputs of 32, which every runtime can be given."""
    import copy

    import torch

    from models import flat

    dtype = getattr(torch, "float16" if form == "half" else form)
    inner = copy.deepcopy(module).to(dtype)
    names = ", ".join(i.name for i in model.inputs)

    def call(*tensors):
        results = flat(inner(*(t.to(dtype) if t.is_floating_point() else t for t in tensors)))
        results = tuple(t.float() if t.is_floating_point() else t for t in results)
        return results if len(results) > 1 else results[0]

    class Narrow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

    space = {"call": call}
    exec(f"def forward(self, {names}): return call({names})", space)
    Narrow.forward = space["forward"]
    return Narrow().eval()


def quantize(model, folder, form):
    """ONNX Runtime's own tools, on the older exporter's file: they want shapes that it infers."""
    from onnxruntime import quantization as q

    source = str(folder.parent / "script-dynamic" / EXPORTED)
    target = str(folder / EXPORTED)
    if form == "int8":
        q.quantize_dynamic(source, target, weight_type=q.QuantType.QInt8)
        return

    class Samples(q.CalibrationDataReader):
        def __init__(self):
            self.left = [
                {i.name: i.array(model.name, size, model.all_sizes()) for i in model.inputs}
                for size in range(model.runs(form))
            ]

        def get_next(self):
            return self.left.pop() if self.left else None

    q.quantize_static(source, target, Samples(), quant_format=q.QuantFormat.QDQ, per_channel=True)


def outside(source, path):
    import onnx

    onnx.save_model(
        onnx.load(source),
        path,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=64,
    )


def warm_up():
    """Load what every export needs: a child that is forked then has it, and starts no threads."""
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            torch.nn.Tanh(), (torch.zeros(2, 3),), f"{folder}/{EXPORTED}", dynamo=True
        )


def export_in_child(model, folder, forms):
    """Returns the child's exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = os.open(folder / "export.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        signal.alarm(SECONDS)
        export_model(model, folder, forms)
        status = 0
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        os._exit(status)


def main():
    """Read lines `MODEL FOLDER FORM...`, and answer each with an exit status."""
    os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm_up()
    from models import all_models

    models = {m.name: m for m in all_models()}
    for line in sys.stdin:
        name, folder, *forms = line.split()
        print(export_in_child(models[name], Path(folder), forms), file=answers, flush=True)


if __name__ == "__main__":
    main()
