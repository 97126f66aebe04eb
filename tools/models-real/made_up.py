"""Inputs of a bundle that are made up, as its signature, its sizes and its ranges allow."""

import json
import re
import zipfile

import numpy as np

from compare import Stop

TYPES = {"f": "float", "i": "int", "u": "uint"}


def numpy_type(name):
    """The type of an array for "f32", "i64", "bool"; None: arrays have no such type."""
    if name == "bool":
        return np.dtype(bool)
    kind, bits = name[:1], name[1:]
    if kind in TYPES and bits in ("8", "16", "32", "64") and (kind, bits) != ("f", "8"):
        return np.dtype(TYPES[kind] + bits)
    return None


def made_up(dice, dtype, dims, extent):
    if dtype.kind == "f":
        return dice.uniform(-1, 1, dims).astype(dtype)
    if dtype.kind == "b":
        return dice.integers(0, 2, dims).astype(dtype)
    low, high = extent if isinstance(extent, list) else (0, extent or 4)
    return dice.integers(low, min(high, low + 100), dims).astype(dtype)


def sizes_of(bundle):
    """The typical size of each symbol; what the sizes must fulfil is left out."""
    with zipfile.ZipFile(bundle) as parts:
        sizes = json.loads(parts.read("sizes.json"))
    return {name: n for name, n in sizes.items() if name != "demands"}


def dims_of(one, sizes):
    """Type and dims of an input of a signature, at these sizes."""
    match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", one["type"])
    names = [n for n in (match[2] or "").split(",") if n] if match else []
    dims = [int(n) if n.isdigit() else int(sizes.get(n, 1)) for n in names]
    return numpy_type(match[1]) if match else None, dims


def inputs_of(bundle, signature, folder, sizes=None, values=None, bounds=None):
    """Files of inputs at the sizes of the bundle, or at others; some values may be given."""
    with zipfile.ZipFile(bundle) as parts:
        ranges = json.loads(parts.read("inputs.json"))
    sizes = sizes or sizes_of(bundle)
    values, ranges = values or {}, {**ranges, **(bounds or {})}
    dice = np.random.default_rng(1)
    for one in signature["inputs"]:
        if one["default"]:
            continue
        name, (dtype, dims) = one["name"], dims_of(one, sizes)
        if dtype is None:
            raise Stop("no reference", f"no input is made up of type {one['type']}")
        if name in values:
            array = np.full(dims, values[name], dtype)
        else:
            array = made_up(dice, dtype, dims, ranges.get(name))
        file = folder / f"{name}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, array)
