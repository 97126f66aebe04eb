"""Models as PyTorch exports them today: right, wrong, refused or crashed?

    make models-real                            all models
    make models-real MODELS='bert* swin*/half'  some of them, by the patterns of a shell
    python tools/models-real --help

Everything lies under build/models-real/MODEL/FORM. A model is exported once; a result is kept for
as long as neither the model nor the compiler changes.

columns of the table:
  verdict      refused: when checked or compiled, in a sentence; refused when run: what check and
               compile took; internal: exit code 5 or 6
  error        largest difference from ONNX Runtime at all sizes, relative to the largest element;
  optimised    the same of the model that optimize wrote; allowed: up to which it is right
  proved       values: proved/undecided/on the host/not at all (docs/bundle.md), or unproved: the
               bundle was written and says itself that nothing was run. Below the table stands by
               name what is not proved
  check s, compile s, MB    seconds of CPU, children too, and the larger one's largest memory
"""

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import queue
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from compare import BAD, Case, measure  # noqa: E402
from export import done  # noqa: E402
from models import all_models  # noqa: E402
from table import failed, not_proved, summary, table  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(
        prog="models-real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("patterns", nargs="*", help="MODEL or MODEL/FORM, with * and ?")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--root", default="build/models-real", help="where exports and results lie")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models at a time")
    parser.add_argument("--no-times", action="store_true", help="measure nothing")
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    return parser.parse_args()


def is_named(model, form, patterns):
    return any(fnmatch.fnmatch(n, p) for p in patterns for n in (model, f"{model}/{form}"))


def chosen(patterns):
    """Pairs of a model and its forms that a pattern names."""
    for model in all_models():
        forms = [f for f in model.all_forms() if not patterns or is_named(model.name, f, patterns)]
        if forms:
            yield model, forms


class Exporter:
    """A process that exports; one for each thread that asks."""

    def __init__(self):
        self.process = None

    def export(self, model, forms, root):
        """Export what is missing; returns why that failed altogether, if it did."""
        folder = root / model.name
        if all(done(folder / f) for f in forms):
            return None
        if not self.process:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "export.py")],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        print(model.name, folder, *forms, file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline() or -1)
        lines = (folder / "export.log").read_text(errors="replace").strip().splitlines()
        return f"exporter ended with {status}: {(lines or [''])[-1][:300]}" if status else None

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def examine(model, forms, args, tool_hash, exporters):
    """The rows of one model."""
    root = Path(args.root)
    exporter = exporters.get()
    excuse = exporter.export(model, forms, root)
    exporters.put(exporter)
    if args.export_only:
        return []
    rows = []
    for form in forms:
        row = Case(model, form, root, args.tilewright, tool_hash).result()
        if row["verdict"] == "not exported" and row["note"] == "no file" and excuse:
            row["note"] = excuse
        rows.append(row)
    return rows


def progress(start, finished, total, rows):
    left = (time.time() - start) / finished * (total - finished)
    words = " ".join(f"{r['case'].split('/')[1]}:{r['verdict']}" for r in rows)
    name = rows[0]["case"].split("/")[0] if rows else ""
    print(f"[{finished}/{total}, {left / 60:.0f} min left] {name}  {words}", file=sys.stderr)
    for row in rows:
        if row["verdict"] in BAD:
            print(f"    {row['case']}: {row['verdict']}: {row['note']}", file=sys.stderr)


def examine_all(args, tool_hash):
    work = list(chosen(args.patterns))
    start, results, exporters = time.time(), {}, queue.Queue()
    for _ in range(args.jobs):
        exporters.put(Exporter())
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        pending = {pool.submit(examine, m, f, args, tool_hash, exporters): m.name for m, f in work}
        for future in concurrent.futures.as_completed(pending):
            results[pending[future]] = future.result()
            progress(start, len(results), len(work), results[pending[future]])
    while not exporters.empty():
        exporters.get().close()
    return [row for model, _ in work for row in results[model.name]]


def measure_all(args, rows, tool_hash):
    """One after the other: what is right is timed at its first size."""
    import onnxruntime

    library = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    models = {m.name: m for m, _ in chosen(args.patterns)}
    for i, row in enumerate(rows):
        if row["verdict"] != "right" or "ratio" in row:
            continue
        name, form = row["case"].split("/")
        case = Case(models[name], form, Path(args.root), args.tilewright, tool_hash)
        row.update(measure(case, str(library)))
        (case.folder / "result.json").write_text(json.dumps(row))
        print(f"\rtimes: {i + 1}/{len(rows)}", end="", file=sys.stderr)
    print("", file=sys.stderr)


def main():
    args = arguments()
    if args.list:
        print("\n".join(f"{m.name}/{f}" for m, forms in chosen(args.patterns) for f in forms))
        return 0
    with open(args.tilewright, "rb") as file:
        tool_hash = hashlib.file_digest(file, "sha256").hexdigest()
    rows = examine_all(args, tool_hash)
    if not args.no_times and not args.export_only:
        measure_all(args, rows, tool_hash)
    if args.json:
        print(json.dumps({"rows": rows, "summary": summary(rows).splitlines()}, indent=1))
    else:
        print("\n".join([table(rows), *not_proved(rows)]))
        print(summary(rows))
    return 1 if failed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
