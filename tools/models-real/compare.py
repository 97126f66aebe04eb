"""Check and compile one exported model, run the one bundle at all its sizes, optimise it, and
compare all with ONNX Runtime.

What decides is ONNX Runtime with its defaults. Where we differ, it is asked again with its
optimiser off, and then PyTorch: who agrees with one of these is right, and the row says with whom.
Where none agrees and ONNX Runtime is as far from itself, there is no reference.
"""

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from export import EXPORTED, REFUSED

# Largest difference allowed, relative to the largest element of an output. A rounding of 16 bits or
# of 8 may fall the other way wherever sums are ordered differently.
TOLERANCE = {"half": 1e-2, "bfloat16": 6e-2, "int8": 3e-2, "qdq": 3e-2}
PLAIN_TOLERANCE = 1e-3

VERDICTS = (
    "right",
    "wrong",
    "refused",
    "refused when run",
    "crashed",
    "internal",
    "invalid model",
    "no reference",
    "not exported",
)
BAD = ("wrong", "refused when run", "crashed", "internal")
TIMEOUT = 600
UNPROVED = "unproved"
# Who is asked until one agrees, and what a row then says.
OPINIONS = (
    ("default", ""),
    ("plain", "as ONNX Runtime without its optimiser"),
    ("standard", "as the standard's evaluator"),
)
ADVICE = "this is a bug in Tilewright; a way round it may be -O0"  # behind what went wrong


class Stop(Exception):
    """A verdict that ends a comparison early."""

    def __init__(self, verdict, note):
        self.verdict, self.note = verdict, note


def tolerance_of(form):
    return TOLERANCE.get(form, PLAIN_TOLERANCE)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


@dataclass
class Cost:
    """Of a command with all that it starts: seconds of CPU, and the largest memory of one process."""

    seconds: float = 0.0
    megabytes: float = 0.0


def spawn(command, cache=None):
    """Run a command: its exit code (None: it took too long), what it printed, and what it cost."""
    world = {**os.environ, "XDG_CACHE_HOME": str(cache)} if cache else None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True, env=world)
        late = threading.Event()
        timer = threading.Timer(TIMEOUT, lambda: (late.set(), os.killpg(child.pid, signal.SIGKILL)))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    code = None if late.is_set() else child.returncode
    cost = Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
    return code, *texts, cost


def tilewright(tool, verb, *words, cost=None, cache=None):
    """Run a verb; its exit code decides between refused, a bug of ours and a crash."""
    code, out, err, spent = spawn([str(tool), verb, "-q", *map(str, words)], cache)
    if cost:
        cost.seconds, cost.megabytes = spent.seconds, spent.megabytes
    if code is None:
        raise Stop("crashed", f"{verb}: longer than {TIMEOUT} s")
    if code == 0:
        return out
    said = f"{verb}: {last_line(err.replace(ADVICE, '')) or last_line(out)}"
    if code < 0:
        raise Stop("crashed", f"{said} (signal {-code})")
    if verb == "run" and code in (2, 3, 4):
        raise Stop("refused when run", said)
    if code in (3, 4):
        raise Stop("refused", said)
    raise Stop("internal", f"{said} (exit code {code})")


def reference(path, folders, how="default"):
    """Names of outputs and the results for each folder of inputs; or a sentence."""
    script = Path(__file__).with_name("reference.py")
    command = [sys.executable, script, path, how, *folders]
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None, None, f"longer than {TIMEOUT} s"
    if done.returncode < 0:
        return None, None, f"signal {-done.returncode}"
    if done.returncode:
        return None, None, last_line(done.stderr.decode(errors="replace"))
    names, results = pickle.loads(done.stdout)
    return names, results, None


def stored(folder):
    import numpy as np

    return [np.load(folder / f"{i}.npy") for i in range(len(list(folder.glob("*.npy"))))]


def difference(seen, expected):
    """The largest difference of two lists of arrays, each relative to its largest element."""
    import numpy as np

    worst = 0.0
    if len(seen) != len(expected):
        return float("inf")
    for a, b in zip(seen, expected):
        if a.shape != b.shape:
            return float("inf")
        if not a.size:
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(b)
        if not np.array_equal(
            np.where(finite, 0, b), np.where(np.isfinite(a), 0, a), equal_nan=True
        ):
            return float("inf")
        largest = np.abs(b[finite]).max(initial=0)
        worst = max(worst, float(np.abs(a - b)[finite].max(initial=0) / (largest or 1)))
    return worst


def in_order_of(expected, seen):
    """Detections in the order of those expected: of equal scores any may come first."""
    import numpy as np

    if not len(expected[0]) or [a.shape for a in seen] != [b.shape for b in expected]:
        return seen
    apart = np.zeros((len(expected[0]), len(expected[0])))
    for a, b in zip(seen, expected):
        a, b = (x.astype(np.float64).reshape(len(x), -1) for x in (a, b))
        each = np.abs(b[:, None] - a[None]).max(-1, initial=0)
        apart = np.maximum(apart, each / (np.abs(b).max(initial=0) or 1))
    order = []
    for row in apart:
        order.append(int(row.argmin()))
        apart[:, order[-1]] = np.inf
    return [a[order] for a in seen]


def account(proof):
    """What is proved of a bundle, for the table: by numbers, and by name what is not."""
    if not proof["runs"]:
        return {"proved": UNPROVED, "not_proved": [{"value": "all", "reason": proof["left_out"]}]}
    counts = [proof[key] for key in ("proved", "undecided", "host", "not")]
    return {"proved": "/".join(map(str, counts)), "not_proved": proof["not_proved"]}


def invalid(path):
    """What the standard's own checker says against a model; None if it takes it."""
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return None


class Case:
    """One exported model; `row` is what the table shows of it."""

    def __init__(self, model, form, root, tool, tool_hash):
        self.model, self.form, self.tool, self.tool_hash = model, form, tool, tool_hash
        self.folder = root / model.name / form
        self.onnx = self.folder / EXPORTED
        sizes = range(model.runs(form))
        self.inputs = [root / model.name / f"inputs_{s}" for s in sizes]
        self.torch = [root / model.name / f"outputs_{s}" for s in sizes]
        self.row = {"case": f"{model.name}/{form}", "tolerance": tolerance_of(form), "note": ""}

    def key(self):
        digest = hashlib.sha256(self.tool_hash.encode())
        for path in sorted(self.folder.glob("model.onnx*")) + sorted(self.folder.glob("weights*")):
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def result(self):
        """The row, from a file if the same compiler has seen the same model."""
        if (self.folder / REFUSED).exists() or not self.onnx.exists():
            note = self.folder / REFUSED
            text = note.read_text().splitlines()[0] if note.exists() else "no file"
            return {**self.row, "verdict": "not exported", "note": text}
        saved, key = self.folder / "result.json", self.key()
        if saved.exists():
            row = json.loads(saved.read_text())
            if row["key"] == key:
                return row
        try:
            self.compare()
            self.row.setdefault("verdict", "right")
        except Stop as stop:
            excuse = invalid(self.onnx) if stop.verdict.startswith("refused") else None
            verdict = "invalid model" if excuse else stop.verdict
            note = f"{stop.note}; onnx.checker: {excuse}" if excuse else stop.note
            self.row.update(verdict=verdict, note=note)
        row = {**self.row, "key": key}
        saved.write_text(json.dumps(row))
        return row

    def compare(self):
        names, expected, excuse = reference(self.onnx, self.inputs)
        if not expected and len(self.inputs) > 1:
            names, expected, excuse = self.sizes_that_run(excuse)
        with tempfile.TemporaryDirectory(prefix="models-real-") as folder:
            bundle = self.folder / "model.twb"
            self.compile(bundle, Path(folder) / "cache")
            seen = self.run_bundle(bundle, names, Path(folder))
            self.judge("error", seen, expected, excuse)
            self.compare_optimised(Path(folder), names, expected, excuse)

    def compile(self, bundle, cache):
        """What checking and compiling cost with nothing kept from before, and what is proved."""
        cost = Cost()
        for verb, words in (("check", []), ("compile", ["--json", "-o", bundle])):
            try:
                said = tilewright(self.tool, verb, self.onnx, *words, cost=cost, cache=cache)
            finally:
                self.row[f"{verb}_s"] = cost.seconds
                self.row["mb"] = max(self.row.get("mb", 0), cost.megabytes)
        self.row.update(account(json.loads(said)["proof"]))

    def apart(self, seen, expected):
        """The largest difference at any size."""
        if self.model.is_set:
            seen = [in_order_of(b, a) for a, b in zip(seen, expected)]
        return max(difference(a, b) for a, b in zip(seen, expected))

    def sizes_that_run(self, excuse):
        """A traced loop over a sequence runs at the length it was traced with, and no other."""
        found = [reference(self.onnx, [inputs]) for inputs in self.inputs]
        good = [i for i, (_, results, _) in enumerate(found) if results]
        if not good:
            return None, None, excuse
        self.note(f"ONNX Runtime runs {len(good)} of {len(found)} sizes")
        self.inputs = [self.inputs[i] for i in good]
        self.torch = [self.torch[i] for i in good]
        return found[good[0]][0], [found[i][1][0] for i in good], None

    def run_bundle(self, bundle, names, folder):
        """Our results, in the order of `names`, or of the signature without."""
        import numpy as np

        seen = []
        for size, inputs in enumerate(self.inputs):
            target = folder / str(size)
            words = ["--json", "--runs=1", "--output", target, *self.given(inputs)]
            said = tilewright(self.tool, "run", *words, bundle)
            order = names or [o["name"] for o in json.loads(said)["outputs"]]
            seen.append([np.load(target / f"{n.replace('/', '_')}.npy") for n in order])
        return seen

    def used(self, folder):
        """The inputs that the model has left: exporters drop those that no result needs."""
        import onnx

        names = {i.name for i in onnx.load(self.onnx, load_external_data=False).graph.input}
        return sorted(p for p in folder.glob("*.npy") if p.stem in names)

    def given(self, folder):
        """The options that give a command these inputs."""
        return [f"--input={p.stem}=@{p}" for p in self.used(folder)]

    def judge(self, column, seen, expected, excuse, seen_plain=None):
        limit = self.row["tolerance"]
        if expected:
            self.row[column] = self.apart(seen, expected)
            if self.row[column] <= limit:
                return
        others = []
        if not expected:
            others.append(f"ONNX Runtime: {excuse}")
        _, plain, _ = reference(self.onnx, self.inputs, "plain")
        if plain:
            error = self.apart(seen, plain)
            if error <= limit:
                self.row["error"] = error
                self.note(
                    f"as ONNX Runtime without its optimiser, which differs by "
                    f"{self.apart(expected, plain) if expected else 'failing'}"
                )
                return
            if seen_plain and self.apart(seen_plain, plain) <= limit:
                self.note("both without ONNX Runtime's optimiser")
                return
            others.append(f"{error:.1e} from ONNX Runtime without its optimiser")
        if self.form not in ("int8", "qdq"):
            error = self.apart(seen, [stored(f) for f in self.torch])
            if error <= limit:
                self.row["error"] = error
                self.note(f"as PyTorch; {others[0]}")
                return
            others.append(f"{error:.1e} from PyTorch")
        apart = self.apart(expected, plain) if expected and plain else 0
        if apart > limit:  # equal scores, which a detector orders one way or another
            raise Stop("no reference", f"ONNX Runtime and its optimiser are {apart:.1e} apart")
        verdict = (
            "wrong" if expected or plain or self.form not in ("int8", "qdq") else "no reference"
        )
        raise Stop(verdict, f"{column}: " + "; ".join(others))

    def compare_optimised(self, folder, names, expected, excuse):
        """The same model rewritten, in ONNX Runtime."""
        target = folder / "optimised.onnx"
        tilewright(self.tool, "optimize", self.onnx, target)
        new_names, seen, new_excuse = reference(target, self.inputs)
        if not seen:
            if expected:
                raise Stop("wrong", f"ONNX Runtime on the optimised model: {new_excuse}")
            return
        if names and new_names != names:
            raise Stop("wrong", f"the optimised model's outputs are {new_names}, not {names}")
        _, seen_plain, _ = reference(target, self.inputs, "plain")
        self.judge("optimised", seen, expected, excuse, seen_plain)

    def note(self, text):
        self.row["note"] = "; ".join(filter(None, [self.row["note"], text]))


def measure(case, library, columns=(("ratio", 0), ("ratio_1", 1))):
    """ONNX Runtime's median time over ours, in turns, and ours in ms: at all threads and at one."""
    ratios = {}
    for column, threads in columns:
        command = [
            str(case.tool),
            "bench",
            "-q",
            "--json",
            f"--threads={threads}",
            "--rounds=5",
            *case.given(case.inputs[0]),
            str(case.folder / "model.twb"),
            f"{case.onnx}/ort",
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, "ORT_LIBRARY": library},
        )
        if done.returncode == 0:
            subjects = json.loads(done.stdout)["subjects"]
            ratios[column] = subjects[1]["median_ms"] / subjects[0]["median_ms"]
            ratios[column.replace("ratio", "ms")] = subjects[0]["median_ms"]
    return ratios
