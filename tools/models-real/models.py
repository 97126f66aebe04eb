"""What a row of the model lists says, and the inputs that a row needs.

A row names a model, makes it (random weights), and says what its inputs are: a kind of data and
dims, which are numbers or names. A name is a symbol of the exported model; the row says which
sizes it runs at, two or more, and static exports take the first. The first sizes are above 1 and
differ from one another, so that no exporter takes a symbol for a constant or two of them for the
same.
"""

import zlib
from dataclasses import dataclass, field
from typing import Callable

SIZES = {
    "batch": (2, 3),
    "height": (64, 96),
    "width": (80, 64),
    "sequence": (12, 7),
    "target": (9, 5),
    "time": (1600, 2100),
}

# Exporter and dims: what each model is exported as. `dynamo` is torch.export, `script` TorchScript.
FORMS = ("dynamo-dynamic", "dynamo-static", "script-dynamic", "script-static")

# Made from the f32 exports for rows that ask for it, see export.py.
EXTRA_FORMS = ("half", "bfloat16", "int8", "qdq", "external", "inputs")


def value_of(dim, size, sizes):
    """What a name stands for, or a sum of names."""
    return sum(sizes[part][size] for part in dim.split(" + "))


@dataclass
class Input:
    name: str
    dims: tuple
    kind: str = "normal"  # normal, image, mask, indices, permutation, positions, flag
    limit: int = 0  # of indices: how many there are

    def shape(self, size, sizes):
        return tuple(value_of(d, size, sizes) if isinstance(d, str) else d for d in self.dims)

    def array(self, model, size, sizes):
        import numpy as np

        random = np.random.default_rng(zlib.crc32(f"{model} {self.name} {size}".encode()))
        shape = self.shape(size, sizes)
        if self.kind == "image":
            return random.random(shape, dtype=np.float32)
        if self.kind == "mask":  # the last ones of a row are padding, never the first
            lengths = random.integers(max(1, shape[-1] // 2), shape[-1] + 1, shape[:-1] + (1,))
            return (np.arange(shape[-1]) < lengths).astype(np.int64)
        if self.kind == "positions":  # those behind the past
            start = sizes["past"][size]
            return np.broadcast_to(np.arange(start, start + shape[-1]), shape).astype(np.int64)
        if self.kind == "flag":  # whether there is a past
            return np.array([bool(sizes["branch"][size])])
        if self.kind == "indices":
            return random.integers(0, self.limit, shape).astype(np.int64)
        if self.kind == "permutation":  # of the last dim: indices of which none comes twice
            return np.argsort(random.random(shape), axis=-1).astype(np.int64)
        return random.standard_normal(shape).astype(np.float32)


@dataclass
class Model:
    name: str
    make: Callable
    inputs: list
    forms: tuple = FORMS
    extra: tuple = ()
    sizes: dict = field(default_factory=dict)
    opset: int | None = None
    is_set: bool = False  # rows of the results belong together, and come in any order of ties
    outputs: list = field(default_factory=list)  # names and dims; none: the exporter names them
    parts: Callable | None = None  # of a merged decoder: module to pairs of a Model and a size

    def runs(self, form):
        """At how many sizes the form runs."""
        return 1 if form.endswith("static") else max([2, *map(len, self.sizes.values())])

    def all_sizes(self):
        return {**SIZES, **self.sizes}

    def all_forms(self):
        return self.forms + self.extra


def image(channels=3, side=None, height="height", width="width"):
    """An image; with a side only the batch is a symbol."""
    dims = ("batch", channels, side, side) if side else ("batch", channels, height, width)
    return [Input("x", dims)]


def tokens(vocabulary=99, mask=True):
    ids = Input("input_ids", ("batch", "sequence"), "indices", vocabulary)
    return [ids, Input("attention_mask", ("batch", "sequence"), "mask")] if mask else [ids]


def perturb(module):
    """Make parameters and statistics that start alike differ, so that each shows in the result."""
    import torch

    tensors = list(module.parameters()) + [b for b in module.buffers() if b.is_floating_point()]
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
            elif name.endswith("running_mean"):
                buffer.normal_(0, 0.1)
        for t in tensors:
            if t.is_floating_point() and t.numel() > 1 and bool((t == t.flatten()[0]).all()):
                t.add_(0.1 * torch.randn_like(t))
    return module


def flat(output):
    """The tensors of whatever a model returns, in order."""
    import torch

    if torch.is_tensor(output):
        return (output,)
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, (tuple, list)):
        return tuple(t for part in output for t in flat(part))
    return ()


def all_models():
    import decoders
    import language
    import odd
    import vision
    import written

    return language.ROWS + decoders.ROWS + written.ROWS + odd.ROWS + vision.ROWS
