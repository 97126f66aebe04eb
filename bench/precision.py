#!/usr/bin/env python3
"""Forms of few bits beside the f32 form of a model, and beside ONNX Runtime and OpenVINO.

usage: bench/precision.py [--threads N] [--rounds N] [--runs N] [--compile OPTIONS]
                          FOLDER [MODEL[:FORM,...] ...]
       (torch, torchvision, timm, onnx, onnxruntime, openvino; TILEWRIGHT)

Makes models with random weights in FOLDER, of torchvision, of timm or its own, and of each these
forms:

    static    Q/DQ, i8 by i8 for each output channel, BatchNormalization folded before
    dynamic   ranges of activations found when running, weights of i8
    unsigned  the same with weights of u8
    4bit      weights of MatMul in 4 bits, blocks of 32 (models with MatMul alone)
    f16       weights and activations; inputs and results f32
    bf16      the same by `tilewright optimize --precision bf16`

and prints for each: CPU ms of a run of ours (medians over the rounds, in turns), of ONNX Runtime and
of OpenVINO, how many times as fast as our f32 form ours is, how many times as fast as either with the
same file, and the largest difference to ONNX Runtime in units of the largest output; "-" where one
of them refuses the file. What is there already is not made again.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType
from onnxruntime.quantization import quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

TILEWRIGHT = os.environ.get("TILEWRIGHT", "build/tilewright")
MODELS = ["resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x1_0",
          "efficientnet_b0", "vit", "bert"]
FORMS = ["f32", "static", "dynamic", "unsigned", "4bit", "f16", "bf16"]


class Encoder(torch.nn.Module):
    """Layers of BERT's sizes behind a table of words."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(30522, 768)
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, 0, "gelu", batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(self.words(x))


def transformer(name):
    if name == "bert":
        return Encoder(), torch.randint(0, 1000, (1, 128))
    from timm.models.vision_transformer import VisionTransformer
    return VisionTransformer(embed_dim=384, depth=4, num_heads=6), torch.randn(1, 3, 224, 224)


def export(name, path):
    import timm
    import torchvision
    torch.manual_seed(0)
    x = torch.randn(1, 3, 224, 224)
    if name in ("bert", "vit"):
        model, x = transformer(name)
    elif name in torchvision.models.list_models():
        model = torchvision.models.get_model(name, weights=None)
    else:
        model = timm.create_model(name, exportable=True)
    torch.onnx.export(model.eval(), (x,), path, opset_version=17, dynamo=False,
                      input_names=["x"], output_names=["y"])
    quant_pre_process(path, path, skip_symbolic_shape=True)


def source(path, seed):
    tensor = onnx.load(path, load_external_data=False).graph.input[0].type.tensor_type
    dims = [d.dim_value for d in tensor.shape.dim]
    random = np.random.default_rng(seed)
    return random.integers(0, 1000, dims) if tensor.elem_type == onnx.TensorProto.INT64 \
        else random.standard_normal(dims).astype(np.float32)


class Samples(CalibrationDataReader):
    def __init__(self, path):
        self.left = [{"x": source(path, seed)} for seed in (100, 101)]

    def get_next(self):
        return self.left.pop() if self.left else None


def convert(form, plain, path):
    if form == "static":
        quantize_static(plain, path, Samples(plain), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
    elif form in ("dynamic", "unsigned"):
        kind = QuantType.QInt8 if form == "dynamic" else QuantType.QUInt8
        quantize_dynamic(plain, path, weight_type=kind)
    elif form == "4bit":
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        maker = MatMulNBitsQuantizer(onnx.load(plain), bits=4, block_size=32, is_symmetric=True)
        maker.process()
        maker.model.save_model_to_file(path)
    elif form == "bf16":
        subprocess.run([TILEWRIGHT, "optimize", "-q", "--precision", "bf16", "--opset", "22", plain,
                        path], check=True)
    else:
        from onnxruntime.transformers.float16 import convert_float_to_float16
        onnx.save(convert_float_to_float16(onnx.load(plain), keep_io_types=True), path)


def made(folder, name, form, options):
    """The ONNX file and the bundle of a form; None where the model has none."""
    plain, path = f"{folder}/{name}.f32.onnx", f"{folder}/{name}.{form}.onnx"
    if not os.path.exists(plain):
        export(name, plain)
    if form == "4bit" and not any(n.op_type == "MatMul" for n in onnx.load(plain).graph.node):
        return None
    if not os.path.exists(path):
        convert(form, plain, path)
    bundle = path.replace(".onnx", ".twb")
    if not os.path.exists(bundle):
        subprocess.run([TILEWRIGHT, "compile", "-q", *options, path, "-o", bundle], check=True)
    return path, bundle


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_ours(bundle, runs, threads, x, out):
    """CPU seconds of a run: many runs less a few; the last result stands in `out`."""
    np.save(f"{out}/x.npy", x)
    spent = []
    for count in (runs + 3, 3):
        before = seconds_of_children()
        subprocess.run([TILEWRIGHT, "run", "-q", "--runs", str(count), "--threads", str(threads),
                        "--input", f"x=@{out}/x.npy", "--output", out, bundle], check=True)
        spent.append(seconds_of_children() - before)
    return (spent[0] - spent[1]) / runs


def open_ort(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def open_openvino(path, threads):
    import openvino
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                "PERFORMANCE_HINT": "LATENCY"}
    if ".bf16." in path:
        settings["INFERENCE_PRECISION_HINT"] = "bf16"
    model = openvino.Core().compile_model(path, "CPU", settings)
    request = model.create_infer_request()
    return lambda x: request.infer({0: x})[0]


def run_theirs(opener, path, threads, runs, x):
    """CPU seconds of a run, and the result; None where it refuses the model."""
    try:
        run = opener(path, threads)
        run(x)
    except Exception:  # whatever another program throws
        return None, None
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(runs):
        result = run(x)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / runs, result


def median(seconds):
    return statistics.median(seconds) if None not in seconds else None


def text(number, factor=1):
    return "-" if number is None else f"{number * factor:.2f}"


def measure(name, forms, arguments):
    subjects = {form: made(arguments.folder, name, form, arguments.compile.split())
                for form in forms}
    subjects = {form: files for form, files in subjects.items() if files}
    ours, theirs, other, apart = ({form: [] for form in subjects} for _ in range(4))
    for seed in range(arguments.rounds):
        for form, (path, bundle) in subjects.items():
            x = source(path, seed)
            with tempfile.TemporaryDirectory() as out:
                ours[form].append(run_ours(bundle, arguments.runs, arguments.threads, x, out))
                y = np.load(f"{out}/y.npy")
            took, result = run_theirs(open_ort, path, arguments.threads, arguments.runs, x)
            theirs[form].append(took)
            if result is not None:
                apart[form].append(np.abs(y - result).max() / np.abs(result).max())
            other[form].append(
                run_theirs(open_openvino, path, arguments.threads, arguments.runs, x)[0])
    base = median(ours["f32"])
    for form in subjects:
        mine, all_theirs = median(ours[form]), [median(theirs[form]), median(other[form])]
        row = [name, form, text(mine, 1e3)] + [text(t, 1e3) for t in all_theirs] + \
            [text(base / mine)] + [text(t and t / mine) for t in all_theirs] + \
            [f"{max(apart[form]):.1g}" if apart[form] else "-"]
        print("| " + " | ".join(row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--compile", default="")
    parser.add_argument("folder")
    parser.add_argument("models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    print("| model | form | ours | ONNX Runtime | OpenVINO | of f32 | of ONNX Runtime | of OpenVINO |"
          " apart |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for model in arguments.models:
        name, _, given = model.partition(":")
        measure(name, ["f32"] + given.split(",") if given else FORMS, arguments)


if __name__ == "__main__":
    sys.exit(main())
