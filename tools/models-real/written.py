"""Modules written by hand: what people write themselves, and one operator or idiom at a time."""

from models import FORMS, Model, Input, image


def written(name, inputs, extra=(), forms=FORMS, **sizes):
    """A row of a function that makes the module, named like the row."""

    def row(make):
        ROWS.append(Model(name or make.__name__, make, inputs, forms, extra, sizes))
        return make

    return row


def function(name, inputs, call, rows=None, **sizes):
    """A row of a function of tensors: a module without parameters."""

    def make():
        return module(call, [i.name for i in inputs])

    (ROWS if rows is None else rows).append(Model(name, make, inputs, sizes=sizes))


def module(call, names, **parts):
    """A module of `parts` that calls `call`(the tensors `names`), or with parts call(self, …)."""
    import torch

    class Written(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for part, value in parts.items():
                setattr(self, part, value)

    head = "self, " if parts else ""
    space = {"call": call}
    exec(f"def forward(self, {', '.join(names)}): return call({head}{', '.join(names)})", space)
    Written.forward = space["forward"]
    return Written()


def f32(name, *dims):
    return Input(name, dims)


ROWS = []
SEQUENCE = [f32("x", "batch", 8, "time")]
FEATURES = [f32("x", "batch", "sequence", 24)]
SHORT = {"time": (40, 57)}


@written("unet", image(side=None), extra=("half", "qdq"))
def unet():
    import torch
    from torch import nn

    def block(i, o):
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1),
            nn.BatchNorm2d(o),
            nn.ReLU(),
            nn.Conv2d(o, o, 3, padding=1),
            nn.ReLU(),
        )

    def call(self, x):
        a = self.a(x)
        b = self.b(self.pool(a))
        c = self.c(self.pool(b))
        b = self.d(torch.cat([self.up1(c), b], 1))
        return self.last(self.e(torch.cat([self.up2(b), a], 1)))

    return module(
        call,
        ["x"],
        a=block(3, 8),
        b=block(8, 16),
        c=block(16, 32),
        d=block(32, 16),
        e=block(16, 8),
        pool=nn.MaxPool2d(2),
        up1=nn.ConvTranspose2d(32, 16, 2, 2),
        up2=nn.ConvTranspose2d(16, 8, 2, 2),
        last=nn.Conv2d(8, 2, 1),
    )


@written("unet_resized", image(side=None))
def unet_resized():
    import torch
    from torch import nn
    from torch.nn.functional import interpolate

    def call(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(a))
        c = interpolate(b, size=a.shape[-2:], mode="bilinear", align_corners=True)
        d = interpolate(b, scale_factor=2.0, mode="nearest")
        e = interpolate(a, scale_factor=0.5, mode="bicubic", align_corners=False)
        return self.last(torch.cat([a, c, d], 1)), e

    return module(
        call,
        ["x"],
        a=nn.Conv2d(3, 8, 3, padding=1),
        last=nn.Conv2d(24, 2, 1),
        b=nn.Conv2d(8, 8, 3, stride=2, padding=1),
    )


@written("fsrcnn", image(1), extra=("half",))
def fsrcnn():
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.PReLU(16),
        nn.Conv2d(16, 8, 1),
        nn.PReLU(8),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.PReLU(8),
        nn.Conv2d(8, 16, 1),
        nn.PReLU(16),
        nn.ConvTranspose2d(16, 1, 9, stride=2, padding=4, output_padding=1),
    )


@written("yolo_head", image())
def yolo_head():
    import torch
    from torch import nn

    def call(self, x):
        x = torch.nn.functional.silu(self.stem(x))
        y = self.head(x)
        n, _, h, w = y.shape
        y = y.view(n, 3, 9, h, w).permute(0, 1, 3, 4, 2).contiguous()
        gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([gx, gy], -1).to(y.dtype)
        xy = (y[..., 0:2].sigmoid() * 2 + grid) * 8
        wh = (y[..., 2:4].sigmoid() * 2) ** 2 * torch.tensor([10.0, 13.0])
        return torch.cat([xy, wh, y[..., 4:].sigmoid()], -1).view(n, -1, 9)

    return module(call, ["x"], stem=nn.Conv2d(3, 16, 8, stride=8), head=nn.Conv2d(16, 27, 1))


@written("yolo", image(), extra=("half",))
def yolo():
    """Stages that split and join again, pools of pools, two scales, boxes by sums over bins."""
    import torch
    from torch import nn

    def conv(i, o, k=1, s=1):
        return nn.Sequential(
            nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU()
        )

    class Split(nn.Module):
        def __init__(self, i, o, n, add=True):
            super().__init__()
            self.enter, self.leave, self.add = conv(i, o), conv(o // 2 * (n + 2), o), add
            pairs = [
                nn.Sequential(conv(o // 2, o // 2, 3), conv(o // 2, o // 2, 3)) for _ in range(n)
            ]
            self.pairs = nn.ModuleList(pairs)

        def forward(self, x):
            parts = list(self.enter(x).chunk(2, 1))
            for pair in self.pairs:
                parts.append(pair(parts[-1]) + (parts[-1] if self.add else 0))
            return self.leave(torch.cat(parts, 1))

    class Pools(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.enter, self.leave = conv(c, c // 2), conv(c * 2, c)
            self.pool = nn.MaxPool2d(5, 1, 2)

        def forward(self, x):
            parts = [self.enter(x)]
            for _ in range(3):
                parts.append(self.pool(parts[-1]))
            return self.leave(torch.cat(parts, 1))

    bins, classes = 8, 6

    def boxes(self, x, head, step):
        n, _, h, w = x.shape
        y = head(x).flatten(2)
        sides = y[:, : 4 * bins].view(n, 4, bins, h * w).softmax(2)
        sides = (sides * torch.arange(bins).view(1, 1, bins, 1)).sum(2)
        gy, gx = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        middle = torch.stack([gx, gy]).view(2, h * w)
        corners = torch.cat([middle - sides[:, :2], middle + sides[:, 2:]], 1) * step
        return torch.cat([corners, y[:, 4 * bins :].sigmoid()], 1)

    def call(self, x):
        a = self.a(x)
        b = self.b(a)
        up = self.join(torch.cat([self.up(b), a], 1))
        down = self.last(torch.cat([self.down(up), b], 1))
        found = boxes(self, up, self.small, 8), boxes(self, down, self.large, 16)
        return torch.cat(found, 2).transpose(1, 2)

    return module(
        call,
        ["x"],
        a=nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2), Split(16, 16, 1), conv(16, 32, 3, 2)),
        b=nn.Sequential(Split(32, 32, 2), conv(32, 64, 3, 2), Split(64, 64, 1), Pools(64)),
        up=nn.Upsample(scale_factor=2),
        join=Split(96, 32, 1, False),
        down=conv(32, 32, 3, 2),
        last=Split(96, 64, 1, False),
        small=nn.Conv2d(32, 4 * bins + classes, 1),
        large=nn.Conv2d(64, 4 * bins + classes, 1),
    )


@written("vae", image(), height=(32, 48), width=(40, 24))
def vae():
    """The autoencoder of a diffusion model: GroupNorm, attention over the image, open sides."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(4, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
            self.second = nn.Sequential(
                nn.GroupNorm(4, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1)
            )
            self.beside = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return self.beside(x) + self.second(self.first(x))

    class Attention(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(4, c), nn.Linear(c, 3 * c), nn.Linear(c, c)

        def forward(self, x):
            n, c, h, w = x.shape
            places = self.norm(x).view(n, 1, c, h * w).transpose(2, 3)
            y = self.out(F.scaled_dot_product_attention(*self.qkv(places).chunk(3, -1)))
            return x + y.transpose(2, 3).reshape(n, c, h, w)

    class Down(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.conv = nn.Conv2d(c, c, 3, 2)

        def forward(self, x):
            return self.conv(F.pad(x, (0, 1, 0, 1)))

    class Up(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.conv = nn.Conv2d(c, c, 3, padding=1)

        def forward(self, x):
            return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))

    def call(self, x):
        mean, spread = self.enter(x).chunk(2, 1)
        z = mean + torch.exp(0.5 * spread.clamp(-30, 20))
        return self.leave(z), mean

    def middle(c):
        return [Block(c, c), Attention(c), Block(c, c)]

    last = [nn.GroupNorm(4, 32), nn.SiLU(), nn.Conv2d(32, 8, 3, padding=1)]
    shallow = [nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1)]
    return module(
        call,
        ["x"],
        enter=nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            *(Block(16, 16), Down(16), Block(16, 32), Down(32), *middle(32), *last),
        ),
        leave=nn.Sequential(
            nn.Conv2d(4, 32, 3, padding=1),
            *(*middle(32), Block(32, 32), Up(32), Block(32, 16), Up(16), Block(16, 16), *shallow),
        ),
    )


@written("tcn", SEQUENCE, extra=("half",), **SHORT)
def tcn():
    from torch import nn

    parts = []
    for dilation in (1, 2, 4):
        parts += [
            nn.ConstantPad1d((2 * dilation, 0), 0.0),
            nn.Conv1d(8, 8, 3, dilation=dilation),
            nn.BatchNorm1d(8),
            nn.GELU(),
        ]
    return nn.Sequential(*parts)


@written(
    "conv3d",
    [f32("x", "batch", 2, "frames", "height", "width")],
    frames=(6, 9),
    height=(16, 20),
    width=(18, 14),
)
def conv3d():
    from torch import nn

    return nn.Sequential(
        nn.Conv3d(2, 8, 3, padding=1),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(8, 4, (1, 3, 3), stride=(1, 2, 2)),
        nn.AdaptiveAvgPool3d(1),
    )


@written("norms", image(8), height=(16, 20), width=(12, 10))
def norms():
    from torch import nn

    return nn.Sequential(
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.InstanceNorm2d(8, affine=True),
        nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"),
        nn.Hardswish(),
        nn.Conv2d(8, 8, 3, padding=1, padding_mode="replicate"),
        nn.LocalResponseNorm(3),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.Mish(),
        nn.Softmax2d(),
    )


@written("activations", FEATURES)
def activations():
    from torch import nn

    return nn.Sequential(
        nn.Linear(24, 24),
        nn.ELU(),
        nn.SELU(),
        nn.CELU(1.5),
        nn.Softplus(),
        nn.GELU(),
        nn.GELU("tanh"),
        nn.LeakyReLU(0.2),
        nn.LogSigmoid(),
        nn.Hardtanh(-3, 3),
        nn.Softsign(),
        nn.Tanhshrink(),
        nn.Hardsigmoid(),
        nn.ReLU6(),
        nn.LayerNorm(24),
        nn.GLU(-1),
        nn.LogSoftmax(-1),
    )


@written("pools", image(8), height=(32, 40), width=(24, 36))
def pools():
    from torch import nn

    return nn.Sequential(
        nn.MaxPool2d(3, 2, 1),
        nn.AvgPool2d(3, 1, 1, count_include_pad=False),
        nn.AvgPool2d(2, 2, ceil_mode=True),
        nn.MaxPool2d(2, 2, ceil_mode=True),
        nn.LPPool2d(2, 2),
        nn.AdaptiveAvgPool2d(1),
    )


@written("grid_sample", image(4) + [f32("grid", "batch", 7, 9, 2)], height=(16, 20), width=(12, 10))
def grid_sample():
    import torch.nn.functional as F

    def call(x, grid):
        return (
            F.grid_sample(x, grid, align_corners=False),
            F.grid_sample(x, grid, mode="nearest", padding_mode="border", align_corners=True),
            F.grid_sample(x, grid, padding_mode="reflection", align_corners=False),
        )

    return module(call, ["x", "grid"])


@written("pixel_shuffle", image(4), height=(16, 20), width=(12, 10))
def pixel_shuffle():
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(4, 16, 3, padding=1),
        nn.PixelShuffle(2),
        nn.PixelUnshuffle(4),
        nn.Conv2d(64, 4, 1),
    )


@written(
    "mlp",
    [f32("x", "batch", 24)],
    extra=("half", "bfloat16", "int8", "qdq", "external", "inputs"),
)
def mlp():
    from torch import nn

    return nn.Sequential(
        nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)
    )


@written("parallel_residual", FEATURES)
def parallel_residual():
    from torch import nn

    def call(self, x):
        y = self.norm(x)
        return x + self.a(y) + self.b(y)

    return module(call, ["x"], norm=nn.LayerNorm(24), a=nn.Linear(24, 24), b=nn.Linear(24, 24))


@written("encoder_layer", FEATURES, extra=("half",))
def encoder_layer():
    from torch import nn

    return nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True, norm_first=True)


@written("sdpa", FEATURES)
def sdpa():
    import torch.nn.functional as F
    from torch import nn

    def call(self, x):
        n, s, _ = x.shape
        q, k, v = (t.view(n, s, 4, 6).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(n, s, 24))

    return module(call, ["x"], qkv=nn.Linear(24, 72), out=nn.Linear(24, 24))


@written("rotary", FEATURES)
def rotary():
    import torch
    from torch import nn

    def call(self, x):
        half = torch.arange(12, dtype=torch.float32)
        angles = torch.outer(torch.arange(x.shape[1], dtype=torch.float32), 10000 ** (-half / 12))
        a, b = x.chunk(2, -1)
        return torch.cat(
            [a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1
        )

    return module(call, ["x"], unused=nn.Identity())


def recurrent(name, kind, **config):
    def make():
        from torch import nn

        def call(self, x):
            return self.cell(x)[0]

        return module(call, ["x"], cell=getattr(nn, kind)(24, 16, batch_first=True, **config))

    ROWS.append(Model(name, make, FEATURES))


recurrent("lstm", "LSTM", num_layers=2)
recurrent("lstm_both_ways", "LSTM", bidirectional=True)
recurrent("gru", "GRU", bidirectional=True)
recurrent("rnn", "RNN")


def torch_function(name, inputs, text, rows=None, **sizes):
    """A row of an expression in torch, F and the inputs."""
    names = ", ".join(i.name for i in inputs)

    def call(*arrays):
        import torch
        import torch.nn.functional as F

        return eval(f"lambda {names}: {text}", {"torch": torch, "F": F})(*arrays)

    function(name, inputs, call, rows, **sizes)


MATRIX = [f32("x", "batch", "sequence")]
torch_function(
    "einsum",
    [f32("x", "batch", "sequence", 8), f32("y", "batch", "target", 8)],
    "(torch.einsum('bsd,btd->bst', x, y), torch.einsum('bsd,btd->bd', x, y), "
    "torch.einsum('bsd->sd', x))",
)
torch_function("topk", [f32("x", "batch", "sequence")], "torch.topk(x, 3, -1)")
torch_function("sort", [f32("x", "batch", "sequence")], "torch.sort(x, -1, descending=True)")
torch_function("cumsum", [f32("x", "batch", "sequence")], "(x.cumsum(1), x.flip(1).cumsum(0))")
torch_function("argmax", MATRIX, "(x.argmax(1), x.argmin(0), x.max(1), x.amax(0))")
torch_function(
    "reductions",
    FEATURES,
    "(x.mean((0, 2)), x.var(-1), x.std(1), x.norm(dim=-1), x.logsumexp(1), x.prod(-1))",
)
torch_function("where_mask", MATRIX, "torch.where(x > 0, x, x.masked_fill(x < -1, float('-inf')))")
torch_function(
    "slices",
    FEATURES,
    "(x[:, 1:-1:2, ::3], x[:, -3:], x[..., None, 2], x.flip(1), "
    "x.roll(1, 1), x[:, :, [3, 1, 2]])",
)
torch_function(
    "shapes",
    FEATURES,
    "(x.reshape(x.shape[0], -1), x.flatten(0, 1).unsqueeze(-1), "
    "x.permute(2, 0, 1), x.expand(2, *x.shape), x.repeat(1, 2, 1), x.unfold(2, 4, 2))",
)
torch_function(
    "gather",
    [f32("x", "batch", 9), Input("i", ("batch", "sequence"), "indices", 9)],
    "(torch.gather(x, 1, i), x[:, i[0]], F.one_hot(i, 9), F.embedding(i, x.t()))",
)
torch_function(
    "scatter",
    [f32("x", "batch", 9), Input("i", ("batch", 9), "permutation"), f32("u", "batch", 9)],
    "(x.scatter(1, i, u), x.scatter_add(1, i // 2, u))",
)
torch_function(
    "index_put",
    [f32("x", "batch", "sequence", 4), f32("u", "batch", 4)],
    "torch.index_put(x, (torch.arange(x.shape[0]), torch.tensor(1)), u)",
)
torch_function(
    "tri",
    [f32("x", "batch", "sequence", "sequence")],
    "(x.tril(), x.triu(1), torch.full_like(x, 2.0).triu(), x.diagonal(dim1=1, dim2=2))",
)
torch_function(
    "integers",
    [Input("i", ("batch", "sequence"), "indices", 50)],
    "(i // 7, i % 7, i * 3 - 100, (i - 25) // 4, (i - 25) % 4, i << 2, i & 12, " "i.float() / 3)",
)
torch_function(
    "pads",
    image(2),
    "(F.pad(x, (1, 2, 3, 4)), F.pad(x, (2, 1, 1, 2), mode='reflect'), "
    "F.pad(x, (1, 1, 2, 2), mode='replicate'), F.pad(x, (1, 1, 2, 0), mode='circular'), "
    "F.pad(x, (-1, 2, 0, -3), value=7.0))",
    height=(16, 20),
    width=(12, 10),
)
torch_function(
    "resizes",
    image(2),
    "(F.interpolate(x, scale_factor=1.5, mode='bilinear'), F.interpolate(x, size=(5, 7)), "
    "F.interpolate(x, scale_factor=2, mode='bicubic', align_corners=True))",
    height=(16, 20),
    width=(12, 10),
)
torch_function(
    "math",
    MATRIX,
    "(x.erf(), x.exp().log1p(), x.abs().sqrt(), x.abs().rsqrt(), x.sin() * x.cos(), "
    "x.atan(), x.tanh(), x.floor(), x.ceil(), x.round(), x.sign(), x.clamp(-0.5, 0.5), x.pow(3), "
    "x.abs().pow(0.3), x.remainder(0.7), torch.fmod(x, 0.7), x.reciprocal(), "
    "torch.maximum(x, -x), x.isnan(), torch.atan2(x, x + 2))",
)
torch_function(
    "unfold_fold",
    image(3),
    "F.fold(F.unfold(x, 3, padding=1), x.shape[-2:], 3, padding=1)",
    height=(16, 20),
    width=(12, 10),
)
torch_function("distance", [f32("x", "batch", 5, 8), f32("y", "batch", 7, 8)], "torch.cdist(x, y)")
torch_function(
    "stack_split",
    FEATURES,
    "torch.stack(x.split([8, 10, 6], -1)[0:1] + x[..., 4:].split(8, -1)[:1], 1)",
)
torch_function("nonzero", MATRIX, "(x > 0).nonzero()")
torch_function("masked_select", MATRIX, "x[x > 0] * 2")
torch_function(
    "bincount", [Input("i", ("batch", "sequence"), "indices", 6)], "F.one_hot(i, 6).sum((0, 1))"
)
torch_function(
    "losses",
    [f32("x", "batch", 6), Input("i", ("batch",), "indices", 6)],
    "(F.cross_entropy(x, i), F.nll_loss(x.log_softmax(1), i, reduction='none'), "
    "F.mse_loss(x, x * 0.5))",
)


@written(
    "nms",
    [Input("boxes", ("batch", 4), "image"), Input("scores", ("batch",), "image")],
    batch=(24, 31),
)
def nms():
    import torch
    import torchvision

    def call(boxes, scores):
        boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
        return boxes[torchvision.ops.nms(boxes, scores, 0.5)]

    return module(call, ["boxes", "scores"])


@written("roi_align", image(4) + [Input("boxes", (5, 4), "image")], height=(16, 20), width=(12, 10))
def roi_align():
    import torch
    import torchvision

    def call(x, boxes):
        corner, size = boxes[:, :2] * 8, boxes[:, 2:] * 5
        boxes = torch.cat([boxes[:, :1] * 0, corner, corner + size], 1)
        return torchvision.ops.roi_align(x, boxes, 3, sampling_ratio=2)

    return module(call, ["x", "boxes"])


@written("deform_conv", image(4) + [f32("offset", "batch", 18, 8, 8)], height=(8, 8), width=(8, 8))
def deform_conv():
    import torch
    from torch import nn
    from torchvision.ops import deform_conv2d

    def call(self, x, offset):
        return deform_conv2d(x, offset, self.weight, padding=1)

    return module(call, ["x", "offset"], weight=nn.Parameter(torch.randn(6, 4, 3, 3)))


@written("loop", FEATURES, forms=("dynamo-dynamic", "dynamo-static"))
def loop():
    import torch
    from torch import nn

    def call(self, x):
        def body(state, row):
            state = torch.tanh(state + self.a(row))
            return state, state * 2

        from torch._higher_order_ops.scan import scan

        _, rows = scan(body, x[:, 0] * 1, x.transpose(0, 1))
        return rows

    return module(call, ["x"], a=nn.Linear(24, 24))


@written("branch", FEATURES, forms=("dynamo-dynamic", "dynamo-static"))
def branch():
    import torch
    from torch import nn

    def call(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.a(y) * 2, lambda y: self.a(y).exp(), (x,))

    return module(call, ["x"], a=nn.Linear(24, 24))


@written("script_loop", FEATURES, forms=("script-dynamic", "script-static"))
def script_loop():
    import torch

    class Steps(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(24, 24)

        def forward(self, x):
            y = x[:, 0]
            for i in range(x.size(1)):
                if float(y.sum()) > 0.0:
                    y = torch.tanh(y + self.a(x[:, i]))
                else:
                    y = y * 0.5 + x[:, i]
            return y

    return torch.jit.script(Steps())
