"""Values of a random model at two bindings, and how a node is evaluated and added to it."""

import ml_dtypes
import numpy as np
import onnxruntime
from onnx.reference import ReferenceEvaluator

import onnx
from onnx import TensorProto, helper

BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.float16): TensorProto.FLOAT16,
    BF16: TensorProto.BFLOAT16,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(bool): TensorProto.BOOL,
}
FLOATS = [d for d in TYPES if d.kind == "f" or d == BF16]
INTS = [d for d in TYPES if d.kind in "iu"]
# What a node may be off.
UNIT = {
    np.dtype(np.float64): 1e-6,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 4e-3,
    BF16: 3e-2,
}
IR_VERSION = 8
BINDINGS = 2


class Unfit(Exception):
    """This node is not taken: another is made in its place."""


def is_float(dtype):
    return dtype.kind == "f" or dtype == BF16


# ---- evaluating one node -------------------------------------------------------------------------


def in_onnx_runtime(node, feeds, opset, ir_version):
    infos = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape) for n, a in feeds.items()]
    outs = [onnx.ValueInfoProto(name=n) for n in node.output if n]
    graph = helper.make_graph([node], "one", infos, outs)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def in_reference(node, feeds, opset, ir_version):
    infos = [helper.make_tensor_value_info(n, TYPES[a.dtype], None) for n, a in feeds.items()]
    outs = [onnx.ValueInfoProto(name=n) for n in node.output if n]
    graph = helper.make_graph([node], "one", infos, outs)
    opsets = [helper.make_opsetid("", opset)]
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets)).run(None, feeds)


def cast(array, dtype):
    with np.errstate(all="ignore"):
        if dtype.kind in "iu" and is_float(array.dtype):
            info, wide = np.iinfo(dtype), array.astype(np.float64)
            if not np.all(
                np.isfinite(wide) & (np.trunc(wide) >= info.min) & (np.trunc(wide) < info.max)
            ):
                raise Unfit("what no integer holds")
        if dtype == bool:
            return array != 0
        return array.astype(dtype)


def evaluate(node, values, opset, is_wide):
    """The results of a node on arrays (None: an input left out); 16 bits are rounded behind it."""
    short = next(
        (v.dtype for v in values if v is not None and is_float(v.dtype) and v.dtype.itemsize == 2),
        None,
    )
    plain = np.dtype(np.float64 if is_wide else np.float32)
    feeds = {}
    for name, value in zip(node.input, values):
        if name:
            feeds[name] = (
                value.astype(plain) if is_float(value.dtype) and (is_wide or short) else value
            )
    with np.errstate(all="ignore"):
        floats = {n: v.astype(np.float32) if v.dtype == np.float64 else v for n, v in feeds.items()}
        ways = [(in_onnx_runtime, feeds), (in_reference, feeds), (in_onnx_runtime, floats)]
        if node.op_type in (
            "LRN",
            "ConvTranspose",
        ):  # the package's own forget a channel, biases of groups
            ways.pop(1)
        for way, given in ways:
            try:
                results = [np.asarray(r) for r in way(node, given, opset, IR_VERSION)]
                break
            except Exception as error:
                excuse = str(error).splitlines()[0] if str(error) else repr(error)
        else:
            raise Unfit(excuse)
        if way is in_onnx_runtime and given is floats and not is_wide:
            results = [r.astype(np.float64) if r.dtype == np.float32 else r for r in results]
        if short and not is_wide:
            results = [r.astype(short) if is_float(r.dtype) else r for r in results]
        if is_wide:
            results = [r.astype(np.float64) if is_float(r.dtype) else r for r in results]
    return results


# ---- values, graphs ------------------------------------------------------------------------------


class Value:
    """With its data at each binding, in its own type and in float64."""

    def __init__(self, name, data, wide, is_given=False):
        self.name, self.data, self.wide, self.is_given = name, data, wide, is_given
        self.dtype, self.rank = data[0].dtype, data[0].ndim
        self.uses = 0

    def sizes(self, axis):
        return [d.shape[axis] for d in self.data]

    def size(self, axis):
        return min(self.sizes(axis))

    @property
    def count(self):
        return max(d.size for d in self.data)


class Maker:
    def __init__(self, seed, number):
        self.dice = np.random.default_rng([seed, number])
        self.opset = int(self.dice.integers(9, 23))
        self.is_extreme = self.dice.random() < 0.35
        self.has_open = self.dice.random() < 0.6
        self.has_empty = self.dice.random() < 0.1
        self.nodes, self.initializers, self.inputs = [], [], []
        self.pool, self.made, self.steps = [], 0, []
        self.symbols = {}

    # dice
    def roll(self, low, high):
        return int(self.dice.integers(low, high + 1))

    def chance(self, share):
        return self.dice.random() < share

    def pick(self, things):
        return things[self.roll(0, len(things) - 1)]

    def name(self, stem="v"):
        self.made += 1
        return f"{stem}{self.made}"

    # data
    def numbers(self, dtype, shape):
        dice = self.dice
        if dtype == bool:
            return dice.integers(0, 2, shape).astype(bool)
        if not is_float(dtype):
            low = 0 if dtype.kind == "u" else -9
            data = dice.integers(low, 10, shape).astype(dtype)
            if self.is_extreme and data.size:
                info = np.iinfo(dtype)
                spots = dice.random(shape) < 0.2
                data = np.where(
                    spots,
                    dice.choice(np.array([info.min, info.max, 0, 1, info.max // 2], dtype), shape),
                    data,
                )
            return np.asarray(data, dtype)
        data = np.asarray(dice.normal(0, 1.5, shape))
        if self.is_extreme and data.size:
            # Of float64 not the largest: some of it is compared with float32.
            info = ml_dtypes.finfo(np.float32 if dtype.itemsize == 8 else dtype)
            extremes = [
                float(info.max),
                -float(info.max),
                float(info.smallest_subnormal),
                float(info.tiny),
            ]
            extremes += [
                np.inf,
                -np.inf,
                np.nan,
                -0.0,
                0.0,
                2.0,
                -4.0,
                0.5,
                65504.0,
                1e-3,
                88.7,
                -104.0,
                1.0,
            ]
            spots = dice.random(shape) < self.pick([0.05, 0.3])
            data = np.where(spots, dice.choice(np.array(extremes), shape), data)
        with np.errstate(all="ignore"):
            return np.asarray(data, dtype)

    def wide_of(self, array):
        return array.astype(np.float64) if is_float(array.dtype) else array

    def constant(self, array, stem="c"):
        """An initializer, a Constant, or one of them behind an Identity."""
        array = np.asarray(array)
        name = self.name(stem)
        tensor = helper.make_tensor(
            name, TYPES[array.dtype], array.shape, array.tobytes(), raw=True
        )
        if self.chance(0.5):
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        value = Value(name, [array] * BINDINGS, [self.wide_of(array)] * BINDINGS, True)
        if self.chance(0.1):
            return self.node("Identity", [value])[0]
        return value

    def dim(self):
        if self.has_open and self.chance(0.4):
            letter = self.pick("NMK")
            if letter not in self.symbols:
                sizes = [self.roll(1, 6), self.roll(1, 6)]
                if self.has_empty and self.chance(0.5):
                    sizes[1] = 0
                self.symbols[letter] = sizes
            return letter
        if self.has_empty and self.chance(0.15):
            return 0
        return self.pick([1, 1, 2, 3, 4, 5, 7, 8])

    def input(self, dtype, dims):
        """A graph input; bf16 comes in as a cast, as files of arrays have no such type."""
        given = np.dtype(np.float32) if dtype == BF16 else dtype
        shapes = [
            [self.symbols[d][b] if isinstance(d, str) else d for d in dims] for b in range(BINDINGS)
        ]
        data = [self.numbers(given, tuple(s)) for s in shapes]
        value = self.input_of(data, dims)
        return self.node("Cast", [value], to=TYPES[BF16])[0] if dtype == BF16 else value

    def input_of(self, data, dims):
        name = self.name("x")
        self.inputs.append((helper.make_tensor_value_info(name, TYPES[data[0].dtype], dims), data))
        value = Value(name, data, [self.wide_of(d) for d in data], True)
        self.pool.append(value)
        return value

    def known(self, numbers, allow_input=True):
        """Integers that a node needs: constant, an input, or computed from a shape."""
        array = np.asarray(numbers, np.int64)
        if allow_input and self.chance(0.15):
            return self.input_of([array] * BINDINGS, list(array.shape))
        return self.constant(array)

    def node(self, op, operands, outputs=1, domain_types=None, **attributes):
        names = [v.name if v else "" for v in operands]
        outs = [self.name() for _ in range(outputs)]
        node = helper.make_node(op, names, outs, name=f"{op}_{self.made}", **attributes)
        data, wide = [], []
        for b in range(BINDINGS):
            data.append(self.evaluated(node, [v.data[b] if v else None for v in operands], False))
            wide.append(self.evaluated(node, [v.wide[b] if v else None for v in operands], True))
        values = []
        for i in range(outputs):
            arrays, wides = [d[i] for d in data], [w[i] for w in wide]
            if any(a.size > 20000 or a.ndim > 6 for a in arrays) or arrays[0].dtype not in TYPES:
                raise Unfit("too large")
            values.append(Value(outs[i], arrays, wides))
        for v in operands:
            if v:
                v.uses += 1
        self.nodes.append(node)
        self.steps.append((node, operands, values))
        self.pool += values
        return values

    def evaluated(self, node, values, is_wide):
        if node.op_type == "Cast":
            to = next(d for d in TYPES if TYPES[d] == node.attribute[0].i)
            array = cast(values[0], to if not (is_wide and is_float(to)) else np.dtype(np.float64))
            return [array]
        return evaluate(node, values, self.opset, is_wide)

    # operands
    def take(self, types=None, low=0, high=5, test=None):
        fit = [
            v
            for v in self.pool
            if (types is None or v.dtype in types)
            and low <= v.rank <= high
            and (test is None or test(v))
        ]
        if fit and self.chance(0.85):
            fresh = [v for v in fit if not v.uses]
            return self.pick(fresh if fresh and self.chance(0.6) else fit)
        if test:
            if fit:
                return self.pick(fit)
            raise Unfit("no such value")
        dtype = self.pick(types or list(TYPES))
        rank = self.roll(low, min(high, max(low, 4)))
        if self.chance(0.2):
            shape = tuple(self.pick([1, 1, 2, 3, 4]) for _ in range(rank))
            return self.constant(self.numbers(dtype, shape))
        return self.input(dtype, [self.dim() for _ in range(rank)])

    def partner(self, x, types=None):
        """Something that broadcasts with x."""
        dtype = x.dtype if types is None else self.pick(types)

        def fits(v):
            if v.dtype != dtype:
                return False
            try:
                for b in range(BINDINGS):
                    np.broadcast_shapes(v.data[b].shape, x.data[b].shape)
            except ValueError:
                return False
            return True

        fit = [v for v in self.pool if fits(v)]
        if fit and self.chance(0.6):
            return self.pick(fit)
        rank = self.roll(0, x.rank)
        sizes = [x.sizes(x.rank - rank + i) for i in range(rank)]
        shape = tuple(s[0] if s[0] == s[1] and self.chance(0.6) else 1 for s in sizes)
        return self.constant(self.numbers(dtype, shape))

    def axis(self, rank, spare=0):
        axis = self.roll(0, rank - 1 + spare)
        return axis - rank - spare if self.chance(0.4) else axis

    def axes(self, rank, least=0):
        count = self.roll(least, rank)
        axes = [int(a) for a in self.dice.permutation(rank)[:count]]
        return [a - rank if self.chance(0.3) else a for a in axes]


def has_nan(value):
    return is_float(value.dtype) and any(np.isnan(d.astype(np.float64)).any() for d in value.data)


def is_tame(value):
    return is_finite(value) and all(
        np.abs(d.astype(np.float64)).max(initial=0) < 1e6 for d in value.data
    )


def is_finite(value):
    return all(np.isfinite(d.astype(np.float64)).all() for d in value.data)
