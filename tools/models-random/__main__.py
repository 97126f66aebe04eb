"""Random small ONNX models as other exporters write them: right, wrong, refused or crashed?

    python tools/models-random 5000 --seed 7             models 0 .. 4999 of a seed
    python tools/models-random 1 --seed 7 --first 123 --keep DIR   one again, with its files

tests/graphs makes graphs of every operator at the newest version. These are of versions 9 to 22, in
the forms that each had; their numbers are extreme at times (infinite, subnormal, the largest), dims
are open, and operands such as the ends of a Slice come from inputs or are computed.

Each node is evaluated when it is made, by ONNX Runtime in float32 (16 bits: rounded behind each
node) and in float64, at two bindings. Who is near to one of both is right. Otherwise each node is
asked about on its own, on what the nodes before it gave here: where all are right, or both
evaluations differ, the model only magnifies roundings ("unstable"), else it is wrong. Levels 2 and
3 take turns. Needs numpy, ml_dtypes, onnx and onnxruntime.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import computing
import ml_dtypes
import moving
import numpy as np
from values import BF16, BINDINGS, IR_VERSION, TYPES, UNIT, Maker, Unfit, is_float

import onnx
from onnx import helper

MAKERS = computing.MAKERS + moving.MAKERS


def make(seed, number):
    m = Maker(seed, number)
    wanted, tries = m.roll(3, 15), 0
    makers = [f for f, _ in MAKERS]
    weights = np.array([w for _, w in MAKERS], float)
    while len(m.steps) < wanted and tries < 200:
        tries += 1
        before = len(m.nodes)
        try:
            makers[m.dice.choice(len(makers), p=weights / weights.sum())](m)
        except Unfit:
            continue
        except (IndexError, ValueError) as error:
            if len(m.nodes) == before and os.environ.get("MODELS_RANDOM_DEBUG"):
                print(repr(error), file=sys.stderr)
    return m


def model_of(m, all_values):
    outputs = [
        v
        for _, _, values in m.steps
        for v in values
        if all_values or not v.uses or v.name.endswith("7")
    ]
    infos = []
    for v in outputs:
        shape = [f"{v.name}_{d}" for d in range(v.rank)]
        infos.append(helper.make_tensor_value_info(v.name, TYPES[v.dtype], shape))
    used = {n for node in m.nodes for n in node.input}
    m.inputs = [i for i in m.inputs if i[0].name in used]
    graph = helper.make_graph(m.nodes, "random", [i[0] for i in m.inputs], infos, m.initializers)
    opsets = [helper.make_opsetid("", m.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), outputs


# ---- judging -------------------------------------------------------------------------------------


def near(seen, expected, factor=1.0):
    """Each element: equal, of the same infinity or NaN, or within what its type allows."""
    if seen.shape != expected.shape:
        return np.zeros(1, bool)
    if not is_float(seen.dtype):
        return seen == expected
    share = UNIT[seen.dtype] * factor
    a, b = seen.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    info = ml_dtypes.finfo(seen.dtype)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        close = np.abs(a - b) <= share * (np.abs(b) * 10 + scale) + 4 * float(
            info.smallest_subnormal
        )
        # What rounds to the largest number here may be infinite there.
        edge = (
            np.isinf(a)
            & (np.abs(b) >= float(info.max) * (1 - share * 10))
            & (np.sign(a) == np.sign(b))
        )
        edge |= (
            np.isinf(b)
            & (np.abs(a) >= float(info.max) * (1 - share * 10))
            & (np.sign(a) == np.sign(b))
        )
    return same | (finite & close) | edge


def is_right(seen, plain, wide):
    """Each element: near to one of both; of another shape is neither."""
    return near(seen, plain) | near(seen, wide)


class Bad(Exception):
    def __init__(self, verdict, note):
        self.verdict, self.note = verdict, note


def tilewright(args, verb, *words):
    world = {**os.environ, "XDG_CACHE_HOME": str(args.cache)}
    try:
        done = subprocess.run(  # noqa: PLW1510
            [args.tilewright, verb, "-q", *map(str, words)],
            capture_output=True,
            text=True,
            timeout=args.seconds,
            env=world,
        )
    except subprocess.TimeoutExpired:
        raise Bad("crashed", f"{verb}: longer than {args.seconds} s") from None
    said = re.sub(r"\S*/models-random-\w+/", "", " ".join(done.stderr.split()))[:500]
    if done.returncode == 0:
        return done.stdout
    if done.returncode < 0:
        raise Bad("crashed", f"{verb}: signal {-done.returncode}: {said}")
    if done.returncode in (3, 4) or done.returncode == 2 and verb == "run":
        raise Bad("refused" if verb == "compile" else "refused when run", f"{said}")
    raise Bad("internal", f"{verb}: exit code {done.returncode}: {said}")


def run_ours(m, args, level, folder, all_values):
    """For each binding the outputs by name."""
    model, outputs = model_of(m, all_values)
    path, bundle = folder / "m.onnx", folder / "m.twb"
    onnx.save(model, path)
    tilewright(args, "compile", f"-O{level}", "--tune=none", "--threads=1", path, "-o", bundle)
    results = []
    for b in range(BINDINGS):
        words = []
        for info, data in m.inputs:
            np.save(folder / f"{b}_{info.name}.npy", data[b])
            words.append(f"--input={info.name}=@{folder / f'{b}_{info.name}.npy'}")
        target = folder / f"out{b}"
        tilewright(args, "run", "--runs=1", "--threads=1", "--output", target, *words, bundle)
        results.append({v.name: load(target / f"{v.name}.npy", v.dtype) for v in outputs})
    return outputs, results


def load(path, dtype):
    array = np.load(path)
    return array.view(dtype) if dtype == BF16 and array.dtype.itemsize == 2 else array


def wrong_nodes(m, args, level, folder):
    """Of all values kept as outputs: the nodes that are wrong on what those before them gave."""
    _, results = run_ours(m, args, level, folder, True)
    found = []
    for b, ours in enumerate(results):
        for node, operands, values in m.steps:
            given = [None if v is None else ours.get(v.name, v.data[b]) for v in operands]
            try:
                wide = [None if v is None else m.wide_of(v) for v in given]
                opinions = [m.evaluated(node, given, False), m.evaluated(node, wide, True)]
            except Unfit:
                continue
            for i, v in enumerate(values):
                both = [o[i] for o in opinions]
                # Of what they differ in the node magnifies roundings itself.
                if not np.all(is_right(ours[v.name], *both) | ~near(*both)):
                    found.append(f"{node.op_type} {node.name} binding {b}")
    return found


def examine(m, args, level, folder):
    outputs, results = run_ours(m, args, level, folder, False)
    off = []
    for b, ours in enumerate(results):
        for v in outputs:
            seen = ours[v.name]
            if seen.dtype != v.dtype:
                raise Bad("wrong", f"{v.name} has type {seen.dtype}, not {v.dtype}")
            if not np.all(is_right(seen, v.data[b], v.wide[b])):
                off.append((v, b, seen))
    if not off:
        return "right", ""
    nodes = wrong_nodes(m, args, level, folder)
    where = ", ".join(f"{v.name} binding {b}" for v, b, _ in off[:4])
    if nodes:
        raise Bad("wrong", f"{where}: {'; '.join(nodes[:4])}")
    if all(
        not np.all(
            near(
                v.data[b],
                v.wide[b].astype(v.dtype) if v.data[b].dtype == v.dtype else v.wide[b],
                0.01,
            )
        )
        for v, b, _ in off
    ):
        return "unstable", where
    return "differs", where


def examined(number, args):
    m = make(args.seed, number)
    level = args.level if args.level is not None else 2 + number % 2
    row = {"number": number, "opset": m.opset, "level": level, "nodes": len(m.steps)}
    with tempfile.TemporaryDirectory(prefix="models-random-") as scratch:
        folder = Path(scratch)
        if args.keep:
            folder = args.keep / str(number)
            folder.mkdir(parents=True, exist_ok=True)
        try:
            row["verdict"], row["note"] = examine(m, args, level, folder)
        except Bad as bad:
            row.update(verdict=bad.verdict, note=bad.note)
        except Exception as error:
            row.update(verdict="no verdict", note=repr(error)[:300])
    row["ops"] = collections.Counter(n.op_type for n in m.nodes)
    return row


def worker(numbers, args):
    """A process of its own: ONNX Runtime may die of what it is asked."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reads)
            with os.fdopen(writes, "w") as out:
                for number in numbers:
                    out.write(json.dumps({"begins": number}) + "\n")
                    out.flush()
                    out.write(json.dumps(examined(number, args)) + "\n")
                    out.flush()
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as lines:
        begun = None
        for line in lines:
            row = json.loads(line)
            if "begins" in row:
                begun = row["begins"]
                continue
            begun = None
            yield row
    os.waitpid(child, 0)
    if begun is not None:
        yield {"number": begun, "verdict": "no reference", "note": "ONNX Runtime died", "ops": {}}
        rest = [n for n in numbers if n > begun]
        if rest:
            yield from worker(rest, args)


def main():
    parser = argparse.ArgumentParser(
        prog="models-random",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--level", type=int, help="2 and 3 in turn without")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--seconds", type=int, default=60, help="for one command")
    parser.add_argument("--keep", type=Path, help="a folder for models, inputs and outputs")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, ops, reasons = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="models-random-") as cache:
        args.cache = cache
        for begin in range(args.first, args.first + args.count, 20):
            numbers = list(range(begin, min(begin + 20, args.first + args.count)))
            for row in worker(numbers, args):
                counts[row["verdict"]] += 1
                ops.update(row["ops"])
                if row["verdict"] not in ("right",):
                    print(
                        f"{row['verdict']}: {row['number']} (opset {row.get('opset')}, "
                        f"-O{row.get('level')}): {row['note']}",
                        flush=True,
                    )
                if row["verdict"].startswith("refused"):
                    reasons[re.sub(r"[0-9]+|/tmp\S+", "#", row["note"])[:120]] += 1
    print(", ".join(f"{n} {v}" for v, n in counts.most_common()))
    print("nodes: " + ", ".join(f"{n} {v}" for v, n in ops.most_common()))
    for reason, count in reasons.most_common():
        print(f"{count} refused: {reason}")
    bad = ("wrong", "differs", "crashed", "internal")
    return 1 if any(counts[b] for b in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
