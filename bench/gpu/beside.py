#!/usr/bin/env python3
"""Bundles beside PyTorch on a GPU: Roller's operators, and whole models.

usage: bench/gpu/beside.py ops DIR [ID...]        the operators of bench/roller.def
       bench/gpu/beside.py models DIR [NAME...]   models of timm and transformers, weights from a seed
       bench/gpu/beside.py make DIR ID|NAME...    only what either needs there: models and bundles

Bundles are made by $BUILD/tilewright (TARGET, cuda:h100; OPTIONS), run by $BUILD/bench-gpu. Both
sides have inputs and outputs in the GPU's memory and replay a CUDA graph; PyTorch's is eager, with
cuDNN autotuning, f32 without TF32, and with COMPILE=max-autotune torch.compile in that mode too.
Times are the least of five averages. Results of models are compared with PyTorch's on the GPU;
ALONE=1 compares and times ours alone.
Prints a table; DIR/ops.json and DIR/models.json have the numbers.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
TARGET = os.environ.get("TARGET", "cuda:h100")
OPTIONS = os.environ.get("OPTIONS", "").split()
FLOATS = 32_000_000  # of the largest tensor: batches are halved until it has no more


# ---- Roller's operators --------------------------------------------------------------------------

def graph(x, body):
    return "graph g(%%x: f32[%s]) -> %%y {\n%s}\n" % (",".join(map(str, x)), body)


def weight(*dims):
    return "  %%w: f32[%s] = weight 0\n" % ",".join(map(str, dims))


def halved(n, floats):
    while n > 1 and n * floats > FLOATS:
        n = (n + 1) // 2
    return n


def operator(words):
    """Text of the graph, shapes of PyTorch's tensors and what it calls, operations, bytes."""
    kind, args = words[0], [int(w) if re.fullmatch(r"\d+", w) else w for w in words[2:]]
    if kind == "MATMUL":
        m, n, k = args[:3]
        m = halved(m, max(n, k))
        return (graph((m, k), weight(k, n) + "  %y = MatMul(%x, %w)\n"), [(m, k), (k, n)],
                lambda t, f: t.matmul, 2 * m * n * k, 4 * (m * n + n * k + m * k))
    if kind == "RELU":
        n = halved(args[0], 1)
        return graph((n,), "  %y = Relu(%x)\n"), [(n,)], lambda t, f: f.relu, n, 8 * n
    if kind == "REDUCE":
        n, k = args[:2]
        n = halved(n, k)
        return (graph((n, k), "  %a: i64[1] = {1}\n  %y = ReduceMean(%x, %a)\n"), [(n, k)],
                lambda t, f: lambda x: t.mean(x, 1, keepdim=True), n * k, 4 * n * k)
    n, c, side = args[:3]
    filters = args[3] if kind == "CONV" else c
    window, stride, padding = args[4:7] if kind == "CONV" else args[3:6]
    out = -(-side // stride) if padding == "SAME" else (side - window) // stride + 1
    side = (out - 1) * stride + window
    n = halved(n, max(c * side * side, filters * out * out))
    moved = 4 * n * (c * side * side + filters * out * out)
    strides = "strides=[%d,%d]" % (stride, stride)
    if kind == "POOL":
        return (graph((n, c, side, side), "  %%y = AveragePool(%%x) {kernel_shape=[%d,%d], %s}\n" %
                      (window, window, strides)), [(n, c, side, side)],
                lambda t, f: lambda x: f.avg_pool2d(x, window, stride),
                n * c * out * out * window * window, moved)
    group, terms = (1, c) if kind == "CONV" else (c, 1)
    return (graph((n, c, side, side), weight(filters, terms, window, window) +
                  "  %%y = Conv(%%x, %%w) {%s, group=%d}\n" % (strides, group)),
            [(n, c, side, side), (filters, terms, window, window)],
            lambda t, f: lambda x, w: f.conv2d(x, w, stride=stride, groups=group),
            2 * n * filters * out * out * terms * window * window,
            moved + 4 * filters * terms * window * window)


def operators(wanted):
    found = {}
    for line in open(os.path.join(os.path.dirname(__file__), "../roller.def"), encoding="utf-8"):
        words = re.split(r"[(), ]+", line.strip())
        if words[0].isupper() and len(words) > 5 and (not wanted or words[1] in wanted):
            found[words[1]] = (words[0],) + operator(words)
    return found


# ---- models --------------------------------------------------------------------------------------

def image(batch, side=224):
    return lambda torch: (torch.rand(batch, 3, side, side),)


def words_of(vocabulary, batch, length):
    return lambda torch: (torch.randint(0, vocabulary, (batch, length)),)


def of_timm(name, **more):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, **more)
    return make


def first_of(model):
    """The model whose only output is the first: what exporters and torch.compile agree about."""
    import torch

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(input_ids=x, use_cache=False)[0]
    return First()


def bert():
    from transformers import BertConfig, BertModel
    return first_of(BertModel(BertConfig(attn_implementation="eager", return_dict=False)))


def gpt2():
    from transformers import GPT2Config, GPT2Model
    return first_of(GPT2Model(GPT2Config(n_layer=4, attn_implementation="eager",
                                         return_dict=False)))


MODELS = {
    "resnet18": (of_timm("resnet18"), image(1)),
    "resnet50": (of_timm("resnet50"), image(1)),
    "resnet50x16": (of_timm("resnet50"), image(16)),
    "mobilenetv2": (of_timm("mobilenetv2_100"), image(1)),
    "efficientnet": (of_timm("efficientnet_b0"), image(1)),
    "convnext": (of_timm("convnext_tiny"), image(1)),
    "densenet121": (of_timm("densenet121"), image(1)),
    "vgg11": (of_timm("vgg11"), image(1)),
    "vit": (of_timm("vit_base_patch16_224"), image(1)),
    "bert": (bert, words_of(30522, 1, 128)),
    "bertx8": (bert, words_of(30522, 8, 128)),
    "gpt2": (gpt2, words_of(50257, 1, 64)),
}
HALF = "-f16"  # behind a name: weights, and inputs that are floats, of f16
MODELS.update({name + HALF: MODELS[name] for name in ("resnet50", "resnet50x16", "vit", "bertx8")})


def model_of(name):
    import torch
    if name.startswith("vit"):
        os.environ["TIMM_FUSED_ATTN"] = "0"
    torch.manual_seed(0)
    make, inputs = MODELS[name]
    model = make().eval()
    torch.manual_seed(1)
    given = inputs(torch)
    if not name.endswith(HALF):
        return model, given
    return model.half(), tuple(x.half() if x.is_floating_point() else x for x in given)


def export(folder, name):
    import numpy
    import torch
    model, inputs = model_of(name)
    path = "%s/%s.onnx" % (folder, name)
    try:
        torch.onnx.export(model, inputs, path, input_names=["x"], dynamo=False, opset_version=17)
    except torch.onnx.errors.UnsupportedOperatorError:
        torch.onnx.export(model, inputs, path, input_names=["x"], dynamo=True)
    numpy.save("%s/%s.npy" % (folder, name), inputs[0].numpy())
    return path


# ---- bundles -------------------------------------------------------------------------------------

def compiled(folder, name, source):
    start = time.time()
    done = subprocess.run(["%s/tilewright" % BUILD, "compile", "-q", source, "--target", TARGET,
                           "--prove", "none", "-o", "%s/%s.twb" % (folder, name)] + OPTIONS,
                          capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else "", time.time() - start


def make(folder, name):
    os.makedirs(folder, exist_ok=True)
    if name not in MODELS:
        source = "%s/%s.g" % (folder, name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(operators([name])[name][1])
    else:
        subprocess.run([sys.executable, __file__, "export", folder, name], check=True,
                       capture_output=True)
        source = "%s/%s.onnx" % (folder, name)
    return compiled(folder, name, source)


def make_all(folder, names):
    """What went wrong, and the seconds of compiling, by name; what is there stays."""
    names = [name for name in names if not os.path.exists("%s/%s.twb" % (folder, name))]

    def attempt(name):
        try:
            return make(folder, name)
        except subprocess.CalledProcessError as error:
            return "export: " + error.stderr.decode()[-300:], 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(attempt, names)))


def modelled_ms(bundle):
    """What the compiler's model of time says (`inspect`), 0 where it says nothing."""
    text = subprocess.run(["%s/tilewright" % BUILD, "inspect", bundle], capture_output=True,
                          text=True, check=False).stdout
    found = re.search(r"^modelled +([0-9.]+) ms", text, re.M)
    return float(found.group(1)) if found else 0


def ours(folder, names):
    bundles = ["%s/%s.twb" % (folder, name) for name in names]
    bundles = [bundle for bundle in bundles if os.path.exists(bundle)]
    done = subprocess.run(["%s/bench-gpu" % BUILD] + bundles, capture_output=True, text=True,
                          check=False)
    if done.stderr:
        print("bench-gpu:", done.stderr[-1000:])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        row["modelled_ms"] = modelled_ms(row["bundle"])
    return {os.path.basename(row["bundle"])[:-4]: row for row in rows}


# ---- PyTorch -------------------------------------------------------------------------------------

def least_ms(torch, run):
    """The least of five averages of a call that gives work to the GPU."""
    def turn(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3 / count
    once = turn(3)
    count = max(10, int(50 / max(once, 1e-4)))
    return min(turn(count) for _ in range(5))


def replayed(torch, call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        call()
    return recorded.replay


def strict(torch):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)


def keep(path, table):
    """After each row: whoever runs out of time has what was there."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1)


def run_ops(folder, wanted):
    import torch
    import torch.nn.functional as functional
    strict(torch)
    ops = operators(wanted)
    troubles = make_all(folder, list(ops))
    for name, (trouble, _) in troubles.items():
        if trouble:
            print("%s: %s" % (name, trouble))
    mine = ours(folder, list(ops))
    table = []
    for name, (kind, _, shapes, call, flops, moved) in ops.items():
        tensors = [torch.rand(shape, device="cuda") for shape in shapes]
        function = call(torch, functional)
        beside = least_ms(torch, replayed(torch, lambda: function(*tensors)))
        row = {"id": name, "kind": kind, "torch_ms": beside, "flops": flops, "bytes": moved}
        row.update(mine.get(name, {"error": "no bundle"}))
        table.append(row)
        print("%-5s %-9s ours %8.4f modelled %8.4f torch %8.4f ratio %5.2f  %6.2f TFLOP/s "
              "%6.0f GB/s %s" % (
            name, kind, row.get("run_ms", 0), row.get("modelled_ms", 0), beside,
            beside / row.get("run_ms", 1e9),
            flops / row.get("run_ms", 1e9) / 1e9, moved / row.get("run_ms", 1e9) / 1e6,
            row.get("error", "" if row.get("same") else "OTHER BITS")), flush=True)
        keep("%s/ops.json" % folder, table)


def error_of(folder, name, expected):
    import numpy
    out = "%s/%s.out" % (folder, name)
    done = subprocess.run(["%s/tilewright" % BUILD, "run", "-q", "%s/%s.twb" % (folder, name),
                           "--input", "x=@%s/%s.npy" % (folder, name), "--output", out],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()
    for file in os.listdir(out):
        seen = numpy.load("%s/%s" % (out, file))
        if seen.shape == expected.shape:
            return float(abs(seen - expected).max() / max(1e-30, abs(expected).max()))
    return "no output of shape %s" % (expected.shape,)


def theirs(torch, model, x):
    row = {"eager_ms": least_ms(torch, lambda: model(x))}
    try:
        row["eager_graph_ms"] = least_ms(torch, replayed(torch, lambda: model(x)))
    except RuntimeError:  # what it does cannot be recorded
        torch.cuda.synchronize()
    if os.environ.get("COMPILE"):
        start = time.time()
        fast = torch.compile(model, mode=os.environ["COMPILE"])
        for _ in range(3):
            fast(x)
        torch.cuda.synchronize()
        row["compile_s"] = time.time() - start
        row["compile_ms"] = least_ms(torch, lambda: fast(x))
    return row


def run_models(folder, names):
    import torch
    strict(torch)
    made = make_all(folder, names)
    for name, (trouble, seconds) in made.items():
        print("%-14s compiled in %5.1f s %s" % (name, seconds, trouble))
    mine = ours(folder, names)
    table = []
    for name in names:
        model, inputs = model_of(name)
        model = model.cuda()
        x = inputs[0].cuda()
        first = model(x)
        row = {"model": name}
        if not os.environ.get("ALONE"):
            row.update(theirs(torch, model, x))
        row.update(mine.get(name, {"error": "no bundle"}))
        row["difference"] = error_of(folder, name, first.float().cpu().numpy())
        table.append(row)
        print("%-14s ours %8.4f  modelled %8.4f  eager %8.4f  graph %8.4f  compile %8.4f  host %8.3f first %7.1f"
              "  difference %s %s" % (name, row.get("run_ms", 0), row.get("modelled_ms", 0),
                                      row.get("eager_ms", 0), row.get("eager_graph_ms", 0),
                                      row.get("compile_ms", 0),
                                      row.get("host_ms", 0), row.get("first_ms", 0),
                                      row["difference"],
                                      row.get("error", "" if row.get("same") else "OTHER BITS")),
              flush=True)
        keep("%s/models.json" % folder, table)
        del model


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("ops", "models", "make", "export"):
        sys.exit(__doc__)
    verb, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    if verb == "export":
        export(folder, names[0])
    elif verb == "make":
        for name, (trouble, seconds) in make_all(folder, names).items():
            print("%-14s compiled in %5.1f s %s" % (name, seconds, trouble))
    elif verb == "ops":
        run_ops(folder, names)
    else:
        run_models(folder, names or list(MODELS))


main()
