"""Nodes that move elements, make shapes, or look along an axis."""

import numpy as np
from computing import F32, SMALL_INTS
from values import BF16, BINDINGS, FLOATS, TYPES, Unfit, has_nan, is_finite, is_float, is_tame

from onnx import helper


def make_slice(m):
    x = m.take(None, 1)
    axes = m.axes(x.rank, 1)
    bound = 6
    starts = [m.pick([m.roll(-bound, bound), 0, 0]) for _ in axes]
    ends = [m.pick([m.roll(-bound, bound), 2**31 - 1, 2**63 - 1]) for _ in axes]
    if m.opset < 10:
        return m.node("Slice", [x], axes=[a % x.rank for a in axes], starts=starts, ends=ends)
    steps = [m.pick([1, 1, 2, -1, -2]) for _ in axes]
    # The largest numbers are the first element to ONNX Runtime where it counts downwards.
    ends = [m.pick([-(2**63), 0, -3, 1]) if s < 0 else e for s, e in zip(steps, ends)]
    operands = [x, m.known(starts), m.known(ends)]
    if axes != list(range(x.rank)) or m.chance(0.5):
        operands.append(m.known(axes, m.chance(0.1)))
        if m.chance(0.5):
            operands.append(m.known(steps, m.chance(0.3)))
    elif len(axes) == x.rank and m.chance(0.3):
        operands += [None, m.known(steps, m.chance(0.3))]
    m.node("Slice", operands)


def make_slice_to_shape(m):
    """An end that is computed: a dim of another value, perhaps divided."""
    if m.opset < 10:
        raise Unfit("since 10")
    x, other = m.take(None, 1), m.take(None, 1)
    shape = m.node("Shape", [other])[0]
    end = m.node("Gather", [shape, m.constant(np.array([m.axis(other.rank)], np.int64))])[0]
    if m.chance(0.5):
        op = m.pick(["Div", "Sub", "Add", "Mul"])
        end = m.node(op, [end, m.constant(np.array([m.roll(1, 3)], np.int64))])[0]
    start = m.constant(np.array([m.roll(-2, 2)], np.int64))
    m.node("Slice", [x, start, end, m.constant(np.array([m.axis(x.rank)], np.int64))])


def make_gather(m):
    x = m.take(None, 1)
    axis = m.axis(x.rank)
    size = x.size(axis)
    if not size:
        raise Unfit("of nothing")
    low = -size if m.opset >= 11 else 0
    shape = m.pick([(), (1,), (3,), (2, 2)])
    indices = np.asarray(m.dice.integers(low, size, shape), m.pick(SMALL_INTS))
    i = m.constant(indices) if m.chance(0.6) else m.input_of([indices] * BINDINGS, list(shape))
    m.node("Gather", [x, i], axis=axis)


def make_gather_elements(m):
    if m.opset < 11:
        raise Unfit("since 11")
    x = m.take(None, 1, 4)
    axis = m.axis(x.rank)
    shape = tuple(m.roll(1, x.size(d)) if x.size(d) else 0 for d in range(x.rank))
    if 0 in shape:
        raise Unfit("of nothing")
    indices = np.asarray(m.dice.integers(-x.size(axis), x.size(axis), shape), np.int64)
    i = m.constant(indices)
    if m.chance(0.5):
        return m.node("GatherElements", [x, i], axis=axis)
    indices = np.asarray(m.dice.permutation(x.size(axis))[: shape[axis]], np.int64)
    turned = indices.reshape([-1 if d == axis % x.rank else 1 for d in range(x.rank)])
    i = m.constant(np.broadcast_to(turned, shape).copy())
    more = (
        {"reduction": m.pick(["add", "mul"])}
        if m.opset >= 16 and x.dtype in FLOATS + SMALL_INTS and m.chance(0.5)
        else {}
    )
    m.node("ScatterElements", [x, i, m.constant(m.numbers(x.dtype, shape))], axis=axis, **more)


def make_gather_nd(m):
    if m.opset < 11:
        raise Unfit("since 11")
    x = m.take(None, 1, 4)
    depth, count = m.roll(1, x.rank), m.roll(1, 3)
    columns = [x.size(d) for d in range(depth)]
    if not all(columns):
        raise Unfit("of nothing")
    m.node(
        "GatherND",
        [x, m.constant(np.asarray(m.dice.integers(0, columns, (count, depth)), np.int64))],
    )


def make_concat(m):
    x = m.take(None, 1)
    axis = m.axis(x.rank)

    def fits(v):
        if v.dtype != x.dtype or v.rank != x.rank:
            return False
        return all(v.sizes(d) == x.sizes(d) for d in range(x.rank) if d != axis % x.rank)

    others = [m.take(None, 1, 6, fits) for _ in range(m.roll(1, 2))]
    m.node("Concat", [x] + others, axis=axis if m.opset >= 11 else axis % x.rank)


def make_split(m):
    x = m.take(None, 1)
    axis = m.axis(x.rank) if m.opset >= 11 else m.roll(0, x.rank - 1)
    sizes = x.sizes(axis)
    if sizes[0] != sizes[1] or sizes[0] < 2:
        raise Unfit("an open side")
    first = m.roll(0 if m.opset >= 13 else 1, sizes[0] - 1)
    parts = [first, sizes[0] - first]
    if m.opset < 13:
        return m.node("Split", [x], outputs=2, axis=axis, split=parts)
    if m.opset >= 18 and m.chance(0.3):
        return m.node("Split", [x], outputs=2, axis=axis, num_outputs=2)
    m.node("Split", [x, m.known(parts)], outputs=2, axis=axis)


def make_squeeze(m):
    x = m.take(None, 1)
    ones = [d for d in range(x.rank) if x.sizes(d) == [1, 1]]
    if m.chance(0.6) or not ones:
        axes = sorted(m.dice.permutation(x.rank + 1)[:1].tolist())
        if m.opset < 13:
            return m.node("Unsqueeze", [x], axes=axes)
        axes = [a - x.rank - 1 if m.chance(0.4) else a for a in axes]
        return m.node("Unsqueeze", [x, m.known(axes, m.chance(0.2))])
    axes = ones[: m.roll(1, len(ones))]
    if m.opset < 13:
        return m.node("Squeeze", [x], axes=axes)
    m.node(
        "Squeeze", [x, m.known([a - x.rank if m.chance(0.3) else a for a in axes], m.chance(0.2))]
    )


def make_transpose(m):
    x = m.take(None, 1)
    more = {"perm": [int(a) for a in m.dice.permutation(x.rank)]} if m.chance(0.8) else {}
    m.node("Transpose", [x], **more)


def make_reshape(m):
    x = m.take()
    kind = m.roll(0, 3)
    if kind == 0:
        return m.node("Flatten", [x], axis=m.roll(0, x.rank))
    if kind == 1:
        return m.node("Reshape", [x, m.constant(np.array([-1], np.int64))])
    if kind == 2 and x.rank >= 2:
        k = m.roll(1, x.rank - 1)
        return m.node("Reshape", [x, m.constant(np.array([0] * (k) + [-1], np.int64))])
    if kind == 3 and x.rank >= 1:
        shape = m.node("Shape", [x])[0]
        first = m.node("Gather", [shape, m.constant(np.array([0], np.int64))])[0]
        return m.node(
            "Reshape",
            [x, m.node("Concat", [first, m.constant(np.array([-1], np.int64))], axis=0)[0]],
        )
    count = x.data[0].size
    if x.data[1].size != count or not count:
        raise Unfit("an open side")
    factor = m.pick([f for f in range(1, count + 1) if count % f == 0])
    m.node("Reshape", [x, m.known([factor, count // factor])])


def make_expand(m):
    x = m.take()
    shape = [
        (
            x.sizes(d)[0]
            if x.sizes(d)[0] == x.sizes(d)[1] and x.sizes(d)[0] != 1
            else m.pick([1, 2, 3]) if x.sizes(d) == [1, 1] else 1
        )
        for d in range(x.rank)
    ]
    shape = [m.roll(1, 3) for _ in range(m.roll(0, 1))] + shape
    if m.chance(0.3) and x.rank:
        other = m.take(None, 0, 5)
        return m.node("Expand", [x, m.node("Shape", [other])[0]])
    if m.chance(0.4):
        return m.node(
            "Tile", [x, m.known([m.roll(0 if m.chance(0.1) else 1, 3) for _ in range(x.rank)])]
        )
    m.node("Expand", [x, m.known(shape)])


def make_pad(m):
    x = m.take(FLOATS + (SMALL_INTS if m.opset >= 11 else []), 1, 4)
    pads = [m.pick([0, 0, 1, 2, -1 if x.size(i % x.rank) > 2 else 0]) for i in range(2 * x.rank)]
    mode = m.pick(["constant", "reflect", "edge"])
    if mode != "constant":
        pads = [min(max(p, 0), max(x.size(i % x.rank) - 1, 0)) for i, p in enumerate(pads)]
        if any(0 in d.shape for d in x.data):
            raise Unfit("of nothing")
    if m.opset < 11:
        return m.node("Pad", [x], pads=pads, mode=mode, value=1.5)
    operands = [x, m.known(pads)]
    if m.chance(0.5) and mode == "constant":
        operands.append(m.constant(np.asarray(2.5 if is_float(x.dtype) else 3, x.dtype)))
    m.node("Pad", operands, mode=mode)


def make_shape(m):
    x = m.take()
    more = {}
    if m.opset >= 15 and m.chance(0.5):
        more = (
            {"start": m.roll(-3, 2)}
            if m.chance(0.5)
            else {"start": m.roll(-2, 1), "end": m.roll(-2, 4)}
        )
    m.node(m.pick(["Shape", "Shape", "Size"]) if not more else "Shape", [x], **more)


def make_generator(m):
    kind = m.roll(0, 2)
    if kind == 0:
        x = m.take()
        if x.count > 400:
            raise Unfit("large")
        number = m.numbers(m.pick([d for d in TYPES if d != BF16]), (1,))
        tensor = helper.make_tensor("value", TYPES[number.dtype], [1], number.tobytes(), raw=True)
        return m.node("ConstantOfShape", [m.node("Shape", [x])[0]], value=tensor)
    if kind == 1 and m.opset >= 11:
        x = m.take(None, 1)
        shape = m.node("Shape", [x])[0]
        limit = m.node("Gather", [shape, m.constant(np.array(0, np.int64))])[0]
        return m.node(
            "Range",
            [
                m.constant(np.array(m.roll(-2, 1), np.int64)),
                limit,
                m.constant(np.array(m.roll(1, 2), np.int64)),
            ],
        )
    x = m.take([np.dtype(np.int64)], 0, 2)
    if x.count == 0:
        raise Unfit("of nothing")
    small = m.node("Mod", [x, m.constant(np.array(4, np.int64))])[0] if m.opset >= 10 else x
    m.node(
        "OneHot",
        [small, m.constant(np.array(4, np.int64)), m.constant(np.array([0.0, 2.0], np.float32))],
        axis=m.roll(-1, x.rank),
    )


def make_topk(m):
    x = m.take(FLOATS + (SMALL_INTS if m.opset >= 11 else []), 1)
    axis = m.axis(x.rank)
    size = x.size(axis)
    for d in x.data:
        rows = np.moveaxis(d.astype(np.float64), axis, -1)
        if np.isnan(rows).any():
            raise Unfit("what is not ordered")
    if not size:
        raise Unfit("of nothing")
    if m.opset < 10:
        return m.node("TopK", [x], outputs=2, axis=axis, k=m.roll(1, size))
    more = {"largest": m.roll(0, 1)} if m.opset >= 11 else {}
    m.node("TopK", [x, m.known([m.roll(1, size)])], outputs=2, axis=axis, **more)


def make_cumsum(m):
    if m.opset < 11:
        raise Unfit("since 11")
    x = m.take([np.dtype(np.float32), np.dtype(np.float64)] + SMALL_INTS, 1)
    m.node(
        "CumSum",
        [x, m.known(m.axis(x.rank), m.chance(0.3))],
        exclusive=m.roll(0, 1),
        reverse=m.roll(0, 1),
    )


def make_softmax(m):
    x = m.take(FLOATS, 1)
    if has_nan(x) or any(np.any(d.astype(np.float64) == np.inf) for d in x.data):
        raise Unfit("inf - inf, which ONNX Runtime does not always take")
    axis = m.axis(x.rank) if m.opset >= 11 else m.roll(0, x.rank - 1)
    m.node(m.pick(["Softmax", "LogSoftmax", "Softmax"]), [x], axis=axis)


def make_norm(m):
    x = m.take(FLOATS, 2, 4)
    kind = m.roll(0, 4)
    if any(
        np.isfinite(d.astype(np.float64)).any() and np.nanmax(np.abs(d.astype(np.float64))) > 1e15
        for d in x.data
    ):
        raise Unfit("squares that are infinite here or there")
    if kind == 0 and m.opset >= 17:
        axis = m.axis(x.rank)
        dims = [x.sizes(d) for d in range(axis % x.rank, x.rank)]
        if any(a != b for a, b in dims):
            raise Unfit("an open side")
        shape = tuple(a for a, _ in dims)
        operands = [x, m.constant(m.numbers(x.dtype, shape))]
        operands += [m.constant(m.numbers(x.dtype, shape))] if m.chance(0.6) else []
        return m.node("LayerNormalization", operands, axis=axis)
    channels = x.sizes(1)
    if channels[0] != channels[1]:
        raise Unfit("open channels")
    c = channels[0]
    weights = [m.constant(m.numbers(x.dtype, (c,))) for _ in range(3)]
    if kind == 1 and x.rank > 2:
        return m.node("InstanceNormalization", [x] + weights[:2])
    if kind == 2:
        if not all(is_tame(w) for w in weights):
            raise Unfit("what overflows in one order and not in another")
        spread = m.constant(np.asarray(np.abs(m.dice.normal(1, 0.3, c)) + 0.1, x.dtype))
        return m.node("BatchNormalization", [x] + weights + [spread])
    if kind == 3 and x.rank == 4:
        if not is_finite(x):
            raise Unfit("NaN, which ONNX Runtime's sum carries on to other channels")
        return m.node("LRN", [x], size=m.pick([1, 3, 5]))
    if kind == 4:
        return m.node("LpNormalization", [x], axis=m.roll(0, x.rank - 1), p=m.roll(1, 2))
    raise Unfit("none")


def make_resize(m):
    x = m.take(F32, 3, 4)
    if any(0 in d.shape for d in x.data):
        raise Unfit("of nothing")
    scales = np.array(
        [1.0, 1.0] + [m.pick([2.0, 1.0, 3.0, 0.5]) for _ in range(x.rank - 2)], np.float32
    )
    mode = m.pick(["nearest", "linear"] if is_finite(x) else ["nearest"])
    if m.opset == 9:
        scales = np.maximum(scales, 1)
        return m.node("Upsample", [x, m.constant(scales)], mode=mode)
    if m.opset == 10:
        return m.node("Resize", [x, m.constant(scales)], mode=mode)
    more = {
        "coordinate_transformation_mode": m.pick(
            ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
        )
    }
    if mode == "nearest":
        more["nearest_mode"] = m.pick(["floor", "round_prefer_floor", "ceil", "round_prefer_ceil"])
    empty = m.constant(np.zeros(0, np.float32)) if m.opset < 13 else None
    if m.chance(0.5):
        return m.node("Resize", [x, empty, m.constant(scales)], mode=mode, **more)
    if any(a != b for a, b in (x.sizes(0), x.sizes(1))):
        raise Unfit("open")
    sizes = [x.sizes(0)[0], x.sizes(1)[0]] + [m.roll(1, 8) for _ in range(x.rank - 2)]
    m.node("Resize", [x, empty, empty, m.known(sizes)], mode=mode, **more)


def make_space(m):
    x = m.take(F32, 4, 4)
    if any(size % 2 for size in x.sizes(2) + x.sizes(3)) or not x.count:
        raise Unfit("no blocks")
    if m.chance(0.5):
        return m.node(
            "DepthToSpace",
            [x],
            blocksize=2,
            **({"mode": m.pick(["DCR", "CRD"])} if m.opset >= 11 else {}),
        )
    m.node("SpaceToDepth", [x], blocksize=2)


def make_quantize(m):
    if m.opset < 10:
        raise Unfit("since 10")
    x = m.take(F32, 0)
    if any(np.isnan(d).any() for d in x.data):
        raise Unfit("NaN, which has no integer")
    scale = m.constant(np.array(m.pick([0.05, 0.1, 0.5, 1.0]), np.float32))
    zero = m.constant(np.array(m.pick([0, 3, 100]), m.pick([np.int8, np.uint8])))
    q = m.node("QuantizeLinear", [x, scale, zero])[0]
    if m.chance(0.7):
        m.node("DequantizeLinear", [q, scale, zero])


def make_index(m):
    kind = m.roll(0, 4)
    if kind == 0 and m.opset >= 14:
        x = m.take(None, 2)
        k = [m.constant(np.array(m.roll(-2, 2), np.int64))] if m.chance(0.6) else []
        return m.node("Trilu", [x] + k, upper=m.roll(0, 1))
    if kind == 1:
        return m.node("NonZero", [m.take(None, 1)])
    if kind == 2:
        x = m.take(None, 1)
        axis = m.roll(0, x.rank - 1)
        if x.sizes(axis)[0] != x.sizes(axis)[1] or not x.size(axis):
            raise Unfit("an open side")
        flags = m.numbers(np.dtype(bool), (x.size(axis),))
        return m.node("Compress", [x, m.constant(flags)], axis=axis)
    if kind == 3 and m.opset >= 12:
        x = m.take(F32, 2, 3)
        return m.node(
            "Einsum",
            [x],
            equation={
                2: m.pick(["ij->ji", "ij->j", "ij->"]),
                3: m.pick(["ijk->kij", "ijk->ik", "ijk->"]),
            }[x.rank],
        )
    if kind == 4:
        x = m.take(F32, 2, 2)
        return m.node("EyeLike", [x], k=m.roll(-1, 1))
    raise Unfit("none")


# With how often each is made.
MAKERS = [
    (make_slice, 7), (make_slice_to_shape, 3), (make_gather, 4), (make_gather_elements, 3),
    (make_gather_nd, 2), (make_concat, 5), (make_split, 3), (make_squeeze, 4), (make_transpose, 4),
    (make_reshape, 6), (make_expand, 5), (make_pad, 3), (make_shape, 3), (make_generator, 4),
    (make_topk, 3), (make_cumsum, 3), (make_softmax, 3), (make_norm, 5), (make_resize, 3),
    (make_space, 1), (make_quantize, 3), (make_index, 4),
]  # fmt: skip
