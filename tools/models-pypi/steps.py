"""One trained model: each verb in turn, none of which keeps the others from being tried, and all
results beside those of ONNX Runtime.

Where it and we differ, others are asked (compare.OPINIONS): its optimiser off, since fused products
of u8 and s8 saturate on some machines, and the standard's evaluator. A row says who agreed.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx

import compare
from compare import OPINIONS, UNPROVED, Stop, difference, invalid, last_line, reference, spawn
from made_up import inputs_of, sizes_of

QUANTISED = {"DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "MatMulInteger"}
QUANTISED |= {"ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QLinearConv"}
STEPS = ("check", "compile", "run", "run_2", "prove", "optimize")
LATE = "late"
UNSTABLE_TRIES = 5
REFUSED = (2, 3, 4)


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


def tolerance_of(model):
    """Rounding to few bits may fall the other way wherever sums are ordered differently."""
    if any(node.op_type in QUANTISED for node in nodes_of(model.graph)):
        return compare.TOLERANCE["int8"]
    if any(w.data_type == onnx.TensorProto.FLOAT16 for w in model.graph.initializer):
        return compare.TOLERANCE["half"]
    return compare.PLAIN_TOLERANCE


def other_sizes(sizes):
    """What is tried as a second size, until ONNX Runtime takes one: larger ones, and then fewer."""
    for change in (
        lambda n: n + 1 if n < 4 else n // 2 * 3,
        lambda n: n * 2,
        lambda n: n if n < 4 else n * 2,
        lambda n: n if n < 4 else n // 2,
    ):
        yield {name: change(n) for name, n in sizes.items()}
    for one in sizes:
        yield {name: n * 2 if name == one else n for name, n in sizes.items()}


def tone(like, pitch):
    """At 16 kHz, along the last axis, in noise: of noise alone a model of voices says nothing."""
    wave = 0.5 * np.sin(np.arange(like.shape[-1]) * (2 * np.pi * pitch / 16000))
    return (wave + 0.1 * like).astype(like.dtype)


def moved_inputs(folder, seed):
    """A folder of the same inputs, of which floats are a little off."""
    dice, moved = np.random.default_rng(seed), Path(f"{folder}_moved")
    shutil.copytree(folder, moved, dirs_exist_ok=True)
    for file in moved.rglob("*.npy"):
        array = np.load(file)
        if array.dtype.kind == "f":
            noise = dice.uniform(1 - 1e-6, 1 + 1e-6, array.shape)
            np.save(file, (array * noise).astype(array.dtype))
    return moved


class Model:
    """`row` is what the table shows; what measure() of compare asks of a case is here too."""

    def __init__(self, listed, path, root, work, tool):
        self.listed, self.onnx, self.folder, self.tool = listed, path, work, tool
        name = str(path.relative_to(root / listed.package))
        model = onnx.load(path)
        self.row = {"package": listed.package, "model": name, "note": ""}
        files = path.parent.glob(path.name + "*")  # with its weights, where they are outside
        self.row["file_mb"] = sum(p.stat().st_size for p in files) / 2**20
        self.row["tolerance"] = tolerance_of(model)
        self.bundle, self.inputs, self.said = work / "model.twb", [], {}
        self.types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
        self.fixed = [f"--shape={name}={sizes}" for name, sizes in listed.ranges.items()]
        self.fixed += [f"--fix={name}={value}" for name, value in listed.fixed.items()]

    def step(self, column, verb, *words):
        """Run a verb: what it printed, or None, and its exit code in the row."""
        code, out, err, cost = spawn([self.tool, verb, *map(str, words)], self.folder / "cache")
        self.row[column] = LATE if code is None else code
        if verb == "compile":
            self.row["compile_s"], self.row["mb"] = cost.seconds, cost.megabytes
        if code == 0:
            return out
        said = last_line(err.replace(compare.ADVICE, "")) or last_line(out)
        self.said[column] = said.replace(str(self.onnx), self.onnx.name)
        return None

    def given(self, folder):
        """The options that give a bundle these inputs: not those that it has as constants."""
        names = ((str(p.relative_to(folder))[:-4], p) for p in sorted(folder.rglob("*.npy")))
        return [f"--input={n}=@{file}" for n, file in names if n not in self.listed.fixed]

    def examine(self):
        """Fill the row."""
        try:
            self.steps()
        except Stop as stop:
            self.row["verdict"] = stop.verdict
            self.note(stop.note)
        self.row.setdefault("verdict", self.verdict())
        if self.row["verdict"].startswith("refused") and (excuse := invalid(self.onnx)):
            self.note(f"onnx.checker: {excuse}")

    def steps(self):
        self.step("check", "check", *self.fixed, self.onnx)
        words = ["-q", "--json", *self.fixed, self.onnx, "-o", self.bundle]
        said = self.step("compile", "compile", *words)
        optimised = self.folder / "optimised.onnx"
        self.step("optimize", "optimize", "-q", self.onnx, optimised)
        if said is None:
            return
        self.row.update(compare.account(json.loads(said)["proof"]))
        if self.row["proved"] == UNPROVED:
            self.note(f"unproved: {self.row['not_proved'][0]['reason']}")
        names, expected = self.make_inputs()
        seen = [self.run(i, names) for i in range(len(self.inputs))]
        words = ["--prove", "-q", *self.given(self.inputs[0])]
        self.step("prove", "run", *words, self.bundle)
        self.judge("error", seen, expected, self.onnx)
        if self.row["optimize"] == 0:
            self.judge_optimised(optimised, names, expected)

    def make_inputs(self):
        """Inputs of one size or two that ONNX Runtime takes, and what it makes of them."""
        signature = json.loads(compare.tilewright(self.tool, "inspect", "--json", self.bundle))
        hints = self.listed
        sizes = {**sizes_of(self.bundle), **hints.sizes}
        names, expected, excuses = None, [], []
        open_sizes = {name: n for name, n in sizes.items() if name not in hints.ranges}
        others = [{**sizes, **other} for other in other_sizes(open_sizes)] if open_sizes else []
        for tried in [sizes, *others]:
            folder = self.folder / f"inputs_{len(self.inputs)}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            inputs_of(self.bundle, signature, folder, tried, hints.values, hints.bounds)
            for name, value in hints.fixed.items():
                dtype = onnx.helper.tensor_dtype_to_np_dtype(self.types[name])
                np.save(folder / f"{name}.npy", np.array(value, dtype))
            for name, pitch in hints.tones.items():
                file = folder / f"{name}.npy"
                if file.exists():
                    np.save(file, tone(np.load(file), pitch))
            new_names, results, excuse = reference(self.onnx, [folder])
            if not results:
                excuses.append(excuse or "no results")
                continue
            names = new_names
            self.inputs.append(folder)
            expected += results
            if len(self.inputs) == 2:
                break
        if not expected:
            raise Stop("no reference", f"ONNX Runtime: {excuses[0][:200]}")
        self.row["sizes"] = len(self.inputs)
        if open_sizes and len(self.inputs) == 1:
            self.note("ONNX Runtime takes one size only")
        return names, expected

    def run(self, index, names):
        """Our outputs, or None."""
        column, target = ("run", "run_2")[index], self.folder / f"outputs_{index}"
        words = ["-q", "--runs=1", "--output", target, *self.given(self.inputs[index])]
        if self.step(column, "run", *words, self.bundle) is None:
            return None
        return [np.load(target / f"{n.replace('/', '_')}.npy") for n in names]

    def judge(self, column, seen, expected, path):
        """The largest difference from who agrees, or from ONNX Runtime."""
        ran = [i for i, results in enumerate(seen) if results is not None]
        if not ran:
            return
        folders = [self.inputs[i] for i in ran]
        for how, words in OPINIONS:
            theirs = [expected[i] for i in ran]
            if how != "default":
                _, theirs, excuse = reference(path, folders, how)
            if not theirs:
                continue
            if any(not isinstance(b, np.ndarray) or b.dtype.kind not in "biuf" for b in theirs[0]):
                self.note("outputs that are no numbers are not compared")
                return
            if not any(np.isfinite(b).any() and np.any(b) for r in theirs for b in r):
                self.note("outputs of zeros or NaN only")
            error = max(difference(seen[i], b) for i, b in zip(ran, theirs))
            if how == "default" or error <= self.row["tolerance"]:
                first = self.row.setdefault(column, error)
                self.row[column] = error
            if error <= self.row["tolerance"]:
                self.note(words and f"{column}: {words}, whose default is {first:.1e} from us")
                return

        self.row["unstable"] = max(self.row.get("unstable", 0), self.unstable(folders, expected))

    def unstable(self, folders, expected):
        """How far ONNX Runtime's own results move, of several tries, with inputs that are 1e-6 off.

        Rounded states of many steps, or scores that are compared, may have no one right value.
        """
        by_folder, worst = dict(zip(map(str, self.inputs), expected)), 0
        for seed in range(UNSTABLE_TRIES):
            moved = [moved_inputs(folder, seed) for folder in folders]
            _, results, _ = reference(self.onnx, moved)
            for folder, seen in zip(folders, results or []):
                worst = max(worst, difference(seen, by_folder[str(folder)]))
            if worst > self.row["tolerance"]:
                break
        return worst

    def judge_optimised(self, path, names, expected):
        """What ONNX Runtime makes of the rewritten model, beside what it makes of the original."""
        new_names, seen, excuse = reference(path, self.inputs)
        if not seen or new_names != names:
            self.row["optimised"] = float("inf")
            self.note(f"optimised: {excuse or 'other outputs'}")
            return
        self.judge("optimised", seen, expected, self.onnx)
        if self.row.get("optimised", 0) > self.row["tolerance"]:
            # Fused products may saturate in either model: both are asked without the optimiser.
            _, plain, _ = reference(path, self.inputs, "plain")
            if plain:
                self.judge("optimised", plain, expected, self.onnx)

    def verdict(self):
        """The worst that any step came to."""
        codes = {column: self.row.get(column, 0) for column in STEPS}
        for column, said in self.said.items():
            self.note(f"{column}: {said}")
        if any(code == LATE or code < 0 for code in codes.values()):
            return "crashed"
        if any(code in (5, 6) for code in codes.values()):
            return "internal"
        limit = self.row["tolerance"]
        if codes["prove"] == 1:
            return "wrong"
        if any(self.row.get(c, 0) > limit for c in ("error", "optimised")):
            if self.row.get("unstable", 0) <= limit:
                return "wrong"
            self.note(f"inputs 1e-6 off move ONNX Runtime's results by {self.row['unstable']:.1e}")
            return "no reference"
        if codes["check"] or codes["compile"]:
            return "refused"
        return "refused when run" if any(codes.values()) else "right"

    def note(self, text):
        if text and text not in self.row["note"]:
            self.row["note"] = "; ".join(filter(None, [self.row["note"], text]))
