"""Nodes that compute: scalars, reductions, products, windows."""

import numpy as np
from values import BF16, FLOATS, INTS, TYPES, Unfit, has_nan, is_finite, is_float, is_tame

UNARY = {
    "Abs": 6, "Acos": 7, "Acosh": 9, "Asin": 7, "Asinh": 9, "Atan": 7, "Atanh": 9, "Ceil": 6,
    "Cos": 7, "Cosh": 9, "Elu": 6, "Erf": 9, "Exp": 6, "Floor": 6, "HardSigmoid": 6, "Identity": 1,
    "LeakyRelu": 6, "Log": 6, "Neg": 6, "Reciprocal": 6, "Relu": 6, "Selu": 6, "Sigmoid": 6,
    "Sign": 9, "Sin": 7, "Sinh": 9, "Softplus": 1, "Softsign": 1, "Sqrt": 6, "Tan": 7, "Tanh": 6,
    "ThresholdedRelu": 10, "Round": 11, "Celu": 12, "HardSwish": 14, "Mish": 18, "Gelu": 20,
    "IsNaN": 9, "IsInf": 10, "Shrink": 9,
}  # fmt: skip
BINARY = {
    "Add": 7,
    "Sub": 7,
    "Mul": 7,
    "Div": 7,
    "Max": 8,
    "Min": 8,
    "Pow": 7,
    "Mod": 10,
    "PRelu": 9,
}
COMPARE = {"Equal": 7, "Less": 7, "Greater": 7, "LessOrEqual": 12, "GreaterOrEqual": 12}
REDUCE = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]
F32 = [np.dtype(np.float32)]
SMALL_INTS = [np.dtype(np.int32), np.dtype(np.int64)]
BOOL = [np.dtype(bool)]


def make_unary(m):
    op = m.pick([o for o, since in UNARY.items() if since <= m.opset])
    types = FLOATS + (INTS if op in ("Abs", "Neg", "Sign", "Identity") else [])
    if op == "Shrink":
        types = F32
    if op == "Relu" and m.opset >= 14:
        types = types + SMALL_INTS
    more = {}
    if op in ("Elu", "LeakyRelu", "Celu", "ThresholdedRelu") and m.chance(0.5):
        more["alpha"] = m.pick([0.5, 1.5, 0.0 if op != "Celu" else 2.0, 0.25])
    if op == "Gelu":
        more["approximate"] = m.pick(["none", "tanh"])
    m.node(op, [m.take(types)], **more)


def make_binary(m):
    op = m.pick([o for o, since in BINARY.items() if since <= m.opset])
    types = FLOATS + (SMALL_INTS if m.opset < 14 else INTS)
    if op in ("Max", "Min") and m.opset < 12 or op == "Pow" and m.opset < 12 or op == "PRelu":
        types = FLOATS
    x = m.take(types)
    y = m.partner(x)
    if op in ("Div", "Mod") and not is_float(x.dtype):
        if any(np.any(d == 0) for d in y.data) or any(np.any(d == -1) for d in y.data):
            raise Unfit("what divides by nothing")
    if op == "Pow" and not is_float(x.dtype):
        if not is_float(y.dtype) and any(np.any(d < 0) or np.any(d > 12) for d in y.data):
            raise Unfit("integers to large powers")
        if any(np.any(np.abs(d.astype(float)) > 20) for d in x.data):
            raise Unfit("integers to large powers")
    operands = [x, y] if m.chance(0.7) or op in ("Div", "Mod", "Pow", "PRelu") else [y, x]
    m.node(op, operands, **({"fmod": 1} if op == "Mod" and is_float(x.dtype) else {}))


def make_compare(m):
    op = m.pick([o for o, since in COMPARE.items() if since <= m.opset])
    types = (
        FLOATS + INTS if m.opset >= 11 or op in ("Less", "Greater") and m.opset >= 9 else SMALL_INTS
    )
    x = m.take(types)
    m.node(op, [x, m.partner(x)])


def make_logic(m):
    if m.chance(0.3):
        return m.node("Not", [m.take(BOOL)])
    x = m.take(BOOL)
    m.node(m.pick(["And", "Or", "Xor"]), [x, m.partner(x)])


def make_bits(m):
    if m.opset < 18:
        raise Unfit("since 18")
    x = m.take(INTS)
    m.node(m.pick(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [x, m.partner(x)])


def make_variadic(m):
    op = m.pick(["Sum", "Mean", "Max", "Min"])
    x = m.take(FLOATS)
    m.node(op, [x] + [m.partner(x) for _ in range(m.roll(0, 2))])


def make_where(m):
    x = m.take()
    m.node("Where", [m.partner(x, BOOL), x, m.partner(x)])


def make_clip(m):
    low, high = sorted([m.pick([-2.0, -1.0, 0.0, 1.0]), m.pick([-0.5, 1.0, 2.0, 6.0])])
    if m.opset < 11:
        return m.node("Clip", [m.take(FLOATS)], min=low, max=high)
    x = m.take(FLOATS + (SMALL_INTS if m.opset >= 12 else []))
    bounds = [m.constant(np.asarray(v, x.dtype)) if m.chance(0.7) else None for v in (low, high)]
    if bounds[1] is None:
        bounds.pop()
        if bounds[0] is None:
            bounds.pop()
    if (len(bounds) < 2 or None in bounds) and not is_finite(x):
        raise Unfit("infinities without a bound, of which ONNX Runtime makes the largest")
    m.node("Clip", [x] + bounds)


def make_cast(m):
    to = m.pick(list(TYPES))
    if to == BF16 and m.opset < 13:
        raise Unfit("since 13")
    m.node("Cast", [m.take()], to=TYPES[to])


def overflows(data):
    """Whether a product of some of these integers may not be one of their type."""
    sizes = np.maximum(np.abs(data.astype(float)), 1)
    return np.prod(sizes) > np.iinfo(data.dtype).max


def make_reduce(m):
    kind = m.pick(REDUCE)
    types = FLOATS + SMALL_INTS if kind in ("Max", "Min", "Sum", "Prod") else FLOATS
    x = m.take(types)
    if kind == "LogSumExp" and has_nan(x):
        raise Unfit("NaN, which ONNX Runtime passes over")
    axes, more = m.axes(x.rank), {"keepdims": m.roll(0, 1)}
    is_input = m.opset >= (13 if kind == "Sum" else 18)
    operands = [x]
    if is_input:
        if axes or m.chance(0.5):
            operands.append(m.known(axes))
        if m.chance(0.3):
            more["noop_with_empty_axes"] = 1
    elif axes:
        more["axes"] = axes if m.opset >= 11 else [a % x.rank for a in axes]
    if any(d.size == 0 for d in x.data):
        raise Unfit("of nothing ONNX Runtime knows no largest")
    if kind == "Prod" and not is_tame(x):
        raise Unfit("products that overflow in one order and not in another")
    if kind == "Prod" and not is_float(x.dtype) and any(overflows(d) for d in x.data):
        raise Unfit("products of integers that ONNX Runtime ends at the largest")
    if kind in ("Max", "Min") and has_nan(x):
        raise Unfit("NaN, which ONNX Runtime passes over")
    if (
        kind in ("Prod", "Sum")
        and not is_float(x.dtype)
        and x.count
        and any(np.abs(d.astype(float)).max() > 9 for d in x.data)
    ):
        raise Unfit("integers of which ONNX Runtime makes floats")
    m.node("Reduce" + kind, operands, **more)


def make_arg(m):
    x = m.take(FLOATS + SMALL_INTS, 1)
    if any(
        d.size == 0 or (is_float(d.dtype) and np.any(np.isnan(d.astype(np.float64))))
        for d in x.data
    ):
        raise Unfit("of nothing, or of what is not ordered")
    axis = m.axis(x.rank) if m.opset >= 11 else m.roll(0, x.rank - 1)
    more = {"select_last_index": 1} if m.opset >= 12 and m.chance(0.3) else {}
    m.node(m.pick(["ArgMax", "ArgMin"]), [x], axis=axis, keepdims=m.roll(0, 1), **more)


def make_matmul(m):
    x = m.take(FLOATS + (SMALL_INTS if m.opset >= 9 else []), 1)
    if not is_tame(x):
        raise Unfit("NaN, of which a library's Relu makes a number")
    inner = x.sizes(x.rank - 1)

    def fits(v):
        return v.dtype == x.dtype and v.rank >= 1 and v.sizes(max(v.rank - 2, 0)) == inner

    if m.chance(0.4):
        y = m.take(None, 1, 5, fits)
    elif inner[0] == inner[1]:
        y = m.constant(m.numbers(x.dtype, (inner[0], m.roll(1, 6))[: m.roll(1, 2)]))
    else:
        letter = next((k for k, s in m.symbols.items() if s == inner), None)
        if not letter or x.dtype == BF16:
            raise Unfit("an open side without a letter")
        y = m.input(x.dtype, [letter, m.roll(1, 5)])
    if not is_tame(y):
        raise Unfit("as much")
    m.node("MatMul", [x, y])


def make_gemm(m):
    x = m.take(FLOATS, 2, 2)
    if not is_tame(x):
        raise Unfit("NaN")
    transposed = m.roll(0, 1)
    inner = x.sizes(0 if transposed else 1)
    if inner[0] != inner[1]:
        raise Unfit("an open side")
    columns, turned = m.roll(1, 6), m.roll(0, 1)
    y = m.constant(m.numbers(x.dtype, (columns, inner[0]) if turned else (inner[0], columns)))
    if not is_tame(y):
        raise Unfit("NaN")
    operands = [x, y]
    if m.opset < 11 or m.chance(0.7):
        operands.append(
            m.constant(m.numbers(x.dtype, m.pick([(columns,), (1,), (), (1, columns)])))
        )
    more = {"alpha": m.pick([0.5, 2.0, 0.0])} if m.chance(0.4) else {}
    more.update(
        {"beta": m.pick([0.5, 3.0, 0.0 if is_finite(operands[-1]) else 1.0])}
        if m.chance(0.4)
        else {}
    )
    m.node("Gemm", operands, transA=transposed, transB=turned, **more)


def window(m, rank, x):
    kernel = [m.roll(1, 3) for _ in range(rank)]
    more = {"kernel_shape": kernel}
    if m.chance(0.6):
        more["strides"] = [m.roll(1, 3) for _ in range(rank)]
    if m.chance(0.25):
        more["auto_pad"] = m.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif m.chance(0.6):
        more["pads"] = [m.roll(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    return kernel, more


def make_conv(m):
    x = m.take(FLOATS, 3, 4)
    if not is_tame(x):
        raise Unfit("NaN")
    channels = x.sizes(1)
    if channels[0] != channels[1] or not channels[0]:
        raise Unfit("open channels")
    kernel, more = window(m, x.rank - 2, x)
    if m.chance(0.3) and more.get("auto_pad", "VALID") == "VALID":
        more["dilations"] = [m.roll(1, 2) for _ in kernel]
    if m.chance(0.3):
        more.pop("kernel_shape")
    group = channels[0] if m.chance(0.3) else 1
    is_transposed = m.chance(0.25)
    if is_transposed:
        shape = (channels[0], m.roll(1, 3), *kernel)
        outs = shape[1] * group
        if m.chance(0.2) and "strides" in more:
            more["output_padding"] = [m.roll(0, s - 1) for s in more["strides"]]
    else:
        outs = group * m.roll(1, 3)
        shape = (outs, channels[0] // group, *kernel)
    operands = [x, m.constant(m.numbers(x.dtype, shape))]
    if not is_tame(operands[1]):
        raise Unfit("products with padding, which ONNX Runtime adds up and we leave out")
    if (
        is_transposed
        and "auto_pad" in more
        and any(s > k for s, k in zip(more.get("strides", kernel), kernel))
    ):
        raise Unfit("padding of less than nothing")
    if m.chance(0.5):
        operands.append(m.constant(m.numbers(x.dtype, (outs,))))
    m.node("ConvTranspose" if is_transposed else "Conv", operands, group=group, **more)


def make_pool(m):
    x = m.take(F32, 3, 4)
    if any(0 in d.shape for d in x.data) or has_nan(x):
        raise Unfit("of nothing, or NaN, which ONNX Runtime passes over")
    op = m.pick(["MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool"])
    if op.startswith("Global"):
        return m.node(op, [x])
    kernel, more = window(m, x.rank - 2, x)
    if any(k > x.size(2 + d) for d, k in enumerate(kernel)):
        raise Unfit("a window beyond its image, of which ONNX Runtime makes one result")
    if op != "LpPool" and m.opset >= 10 and m.chance(0.3) and "auto_pad" not in more:
        more["ceil_mode"] = 1
    if op == "AveragePool" and m.chance(0.4):
        more["count_include_pad"] = 1
    m.node(op, [x], outputs=2 if op == "MaxPool" and m.chance(0.2) else 1, **more)


# With how often each is made.
MAKERS = [
    (make_unary, 14), (make_binary, 16), (make_compare, 4), (make_logic, 3), (make_bits, 2),
    (make_variadic, 2), (make_where, 5), (make_clip, 3), (make_cast, 9), (make_reduce, 10),
    (make_arg, 3), (make_matmul, 6), (make_gemm, 2), (make_conv, 5), (make_pool, 4),
]  # fmt: skip
