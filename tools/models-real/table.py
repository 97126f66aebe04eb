"""The table of all cases, and the line that sums it up."""

from compare import BAD, VERDICTS

COLUMNS = (
    ("case", "case", "{}"),
    ("verdict", "verdict", "{}"),
    ("error", "error", "{:.1e}"),
    ("optimised", "optimised", "{:.1e}"),
    ("tolerance", "allowed", "{:.0e}"),
    ("ratio", "ORT/ours", "{:.2f}"),
    ("ratio_1", "1 thread", "{:.2f}"),
    ("note", "", "{}"),
)


def table(rows):
    """Columns as wide as their widest text; the last one, which explains, is not filled up."""
    lines = [[title for _, title, _ in COLUMNS]]
    for row in rows:
        lines.append(
            [form.format(row[key]) if row.get(key) is not None else "" for key, _, form in COLUMNS]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    widths[-1] = 0
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(line, widths)).rstrip() for line in lines)


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None


def summary(rows):
    counts = {v: sum(r["verdict"] == v for r in rows) for v in VERDICTS}
    names = {r["case"].split("/")[0] for r in rows if r["verdict"] != "not exported"}
    text = (
        f"{counts['right']} right, {counts['wrong']} wrong, {counts['refused']} refused, "
        f"{counts['crashed']} crashed, {counts['internal']} internal errors"
    )
    ratio, one = (median([r[k] for r in rows if r.get(k)]) for k in ("ratio", "ratio_1"))
    lines = [
        f"{len(names)} models in {len(rows) - counts['not exported']} exports; "
        f"{counts['not exported']} not exported, {counts['no reference']} without a reference, "
        f"{counts['invalid model']} invalid"
    ]
    if ratio and one:
        lines.append(
            f"median of ONNX Runtime's time over ours: {ratio:.2f}, on one thread {one:.2f}"
        )
    return "\n".join([*lines, text])


def failed(rows):
    return any(r["verdict"] in BAD for r in rows)
