"""Two exports of a decoder, without and with past, as one model: an If on `use_cache_branch`.

This is how exporters of merged decoders write them (Optimum's merge_decoders, step by step), so that
what users have is what is tried: weights that both hold stand outside, under names of their own;
scalars and lists of integers stay inside; both branches say the dims that the first step has; what a
later step does not compute again (keys and values of an encoder) is an empty constant there.
"""

import hashlib

INDICES = (6, 7)  # INT32, INT64


def merge_decoders(first, later, dims, target):
    """The files `first` (without past) and `later` (with past) as the file `target`; `dims` are
    those of its inputs, by name."""
    import onnx
    from onnx import helper

    models = [onnx.load(first), onnx.load(later)]
    unify_outputs(models[0].graph, models[1].graph)
    inputs = all_inputs(models, dims)
    shared = share_weights(models)
    branches = [
        helper.make_graph(
            model.graph.node,
            name,
            [],
            model.graph.output,
            [t for t in model.graph.initializer if is_inside(t)],
        )
        for model, name in zip(models, ("no_past", "with_past"))
    ]
    flag = helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1])
    node = helper.make_node(
        "If",
        ["use_cache_branch"],
        [o.name for o in models[0].graph.output],
        name="merged_if",
        then_branch=branches[1],
        else_branch=branches[0],
    )
    graph = helper.make_graph([node], "merged", [*inputs, flag], models[0].graph.output, shared)
    opsets = {o.domain: o for model in models for o in model.opset_import}
    merged = helper.make_model(
        graph, opset_imports=list(opsets.values()), ir_version=max(m.ir_version for m in models)
    )
    onnx.save(merged, target)


def is_inside(tensor):
    return len(tensor.dims) == 0 or len(tensor.dims) == 1 and tensor.data_type in INDICES


def shape_of(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def unify_outputs(first, later):
    """The outputs of `first`, in its order, for both: a symbol that only one of them has gets a
    name of the output's own."""
    from onnx import helper

    found = {o.name: o for o in later.output}
    if not set(found) <= {o.name for o in first.output}:
        raise ValueError("a later step has outputs that the first has not")
    outputs = []
    for output in first.output:
        shape, kind = shape_of(output), output.type.tensor_type.elem_type
        if output.name in found:
            pairs = zip(shape, shape_of(found[output.name]))
            shape = [a if a == b else f"{output.name}_dim_{i}" for i, (a, b) in enumerate(pairs)]
        else:
            later.node.append(empty(output.name, kind, shape))
        outputs.append(helper.make_tensor_value_info(output.name, kind, shape))
    for graph in (first, later):
        del graph.output[:]
        graph.output.extend(outputs)


def empty(name, kind, shape):
    """A constant without elements: the first symbol is 0, others are 1."""
    from onnx import helper

    dims, seen = [], False
    for dim in shape:
        dims.append(dim if isinstance(dim, int) else int(seen))
        seen = seen or isinstance(dim, str)
    value = helper.make_tensor("nothing", kind, dims, [])
    return helper.make_node("Constant", [], [name], name=f"empty_{name}", value=value)


def all_inputs(models, dims):
    """Each input once, with the dims that the merged model declares: a mask is as long as what is
    new in one branch, as all in the other, and a past that is not looked at has any length."""
    from onnx import helper

    kinds = {v.name: v.type.tensor_type.elem_type for m in models for v in m.graph.input}
    return [helper.make_tensor_value_info(n, kinds[n], dims[n]) for n in dims if n in kinds]


def share_weights(models):
    """Weights of equal bytes get one name in both; returns each once."""
    from onnx import numpy_helper

    names, shared = {}, {}
    for i, model in enumerate(models):
        for tensor in model.graph.initializer:
            if is_inside(tensor):
                continue
            digest = hashlib.sha256(numpy_helper.to_array(tensor).tobytes()).hexdigest()
            key = (tensor.data_type, tuple(tensor.dims), digest)
            if key not in shared:
                shared[key] = type(tensor)()
                shared[key].CopyFrom(tensor)
                shared[key].name = f"{tensor.name}_merged_{len(shared)}"
            names[i, tensor.name] = shared[key].name
        rename(model.graph, {old: new for (k, old), new in names.items() if k == i})
    return list(shared.values())


def rename(graph, names):
    """In all nodes, also those of branches inside, which see what stands outside."""
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, names)
            for inner in attribute.graphs:
                rename(inner, names)
