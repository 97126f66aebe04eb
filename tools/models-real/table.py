"""The table of all cases, and the lines that sum it up."""

import math

from compare import BAD, UNPROVED, VERDICTS

COLUMNS = (
    ("case", "case", "{}"),
    ("verdict", "verdict", "{}"),
    ("error", "error", "{:.1e}"),
    ("optimised", "optimised", "{:.1e}"),
    ("tolerance", "allowed", "{:.0e}"),
    ("proved", "proved", "{}"),
    ("check_s", "check s", "{:.1f}"),
    ("compile_s", "compile s", "{:.1f}"),
    ("mb", "MB", "{:.0f}"),
    ("ms", "ms", "{:.2f}"),
    ("ratio", "ORT/ours", "{:.2f}"),
    ("ratio_1", "1 thread", "{:.2f}"),
    ("note", "", "{}"),
)


def table(rows, columns=COLUMNS):
    """Columns as wide as their widest text; the last one, which explains, is not filled up."""
    lines = [[title for _, title, _ in columns]]
    for row in rows:
        lines.append(
            [form.format(row[key]) if row.get(key) is not None else "" for key, _, form in columns]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    widths[-1] = 0
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(line, widths)).rstrip() for line in lines)


def not_proved(rows):
    """A line for each model of which something is not proved, with the values' names."""
    lines = []
    for row in rows:
        names = {}
        for one in row.get("not_proved", []):
            names.setdefault(one["reason"], []).append(one["value"])
        if names:
            texts = [f"{', '.join(values)} ({reason})" for reason, values in names.items()]
            lines.append(f"{row['case']}: not proved: {'; '.join(texts)}")
    return lines


def proofs(rows):
    """How many bundles are proved, and their values as in the column."""
    made = [r for r in rows if r.get("proved")]
    if not made:
        return []
    ran = [r for r in made if r["proved"] != UNPROVED]
    sums = [sum(n) for n in zip(*(map(int, r["proved"].split("/")) for r in ran))] or [0] * 4
    whole = sum(not r["not_proved"] for r in ran)
    costly = max(made, key=lambda r: r["compile_s"])
    return [
        f"of {len(made)} bundles {whole} are proved, {len(ran) - whole} but for some values, "
        f"{len(made) - len(ran)} unproved; values: {sums[0]} proved, {sums[1]} undecided, "
        f"{sums[2]} on the host, {sums[3]} not",
        f"seconds of CPU: {sum(r['check_s'] for r in made):.0f} to check, "
        f"{sum(r['compile_s'] for r in made):.0f} to compile, at most {costly['compile_s']:.1f} "
        f"({costly['case']}); at most {max(r['mb'] for r in made):.0f} MB",
    ]


def mean(values):
    """The geometric mean, for ratios."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def speeds(rows):
    """Of models that take a millisecond or more; shorter ones measure what a call costs."""
    timed = [r for r in rows if r.get("ms_1", 0) >= 1 and r.get("ratio") and r.get("ratio_1")]
    if not timed:
        return []
    least = min(timed, key=lambda r: r["ratio"])
    gain = mean([r["ratio"] / r["ratio_1"] for r in timed])
    return [
        f"ONNX Runtime's time over ours, geometric mean of {len(timed)} above 1 ms: "
        f"{mean([r['ratio'] for r in timed]):.2f}, least {least['ratio']:.2f} ({least['case']}); "
        f"on one thread {mean([r['ratio_1'] for r in timed]):.2f}; "
        f"our gain from threads over its: {gain:.2f}"
    ]


def summary(rows):
    counts = {v: sum(r["verdict"] == v for r in rows) for v in VERDICTS}
    names = {r["case"].split("/")[0] for r in rows if r["verdict"] != "not exported"}
    text = (
        f"{counts['right']} right, {counts['wrong']} wrong, {counts['refused']} refused, "
        f"{counts['refused when run']} refused when run, {counts['crashed']} crashed, "
        f"{counts['internal']} internal errors"
    )
    lines = [
        f"{len(names)} models in {len(rows) - counts['not exported']} exports; "
        f"{counts['not exported']} not exported, {counts['no reference']} without a reference, "
        f"{counts['invalid model']} invalid"
    ]
    return "\n".join([*lines, *speeds(rows), *proofs(rows), text])


def failed(rows):
    return any(r["verdict"] in BAD for r in rows)
