"""Modules with what people do at the edges: odd indexing, masks, routing, caches, sequences."""

from models import Input, Model, image
from written import FEATURES, f32, module, torch_function

DYNAMO = ("dynamo-dynamic", "dynamo-static")
MATRIX = [f32("x", "batch", "sequence")]
ROWS = []


def odd(inputs, forms=None, extra=(), **sizes):
    """A row of a function that makes the module, named like the row."""

    def row(make):
        more = {"forms": forms} if forms else {}
        ROWS.append(Model(f"odd_{make.__name__}", make, inputs, extra=extra, sizes=sizes, **more))
        return make

    return row


def expression(name, inputs, text, **sizes):
    torch_function(f"odd_{name}", inputs, text, rows=ROWS, **sizes)


@odd(image(3), height=(16, 20), width=(12, 24))
def patches():
    import torch.nn.functional as F
    from torch import nn

    def call(self, x):
        y = F.unfold(x, (4, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2))
        y = self.mix(y.transpose(1, 2)).transpose(1, 2)
        h, w = x.shape[-2:]
        return F.fold(y, (h, w), (4, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2))

    return module(call, ["x"], mix=nn.Linear(24, 16))


@odd(image(2, side=20))
def spatial_transformer():
    import torch.nn.functional as F
    from torch import nn

    def call(self, x):
        theta = self.where(F.adaptive_avg_pool2d(x, 4).flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, (x.shape[0], 2, 13, 17), align_corners=False)
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=True)

    return module(call, ["x"], where=nn.Linear(32, 6))


@odd([f32("x", "batch", "sequence", 6), Input("i", ("batch", "sequence"), "indices", 5)])
def groups_by_index():
    import torch

    def call(x, i):
        j = i.unsqueeze(-1).expand_as(x)
        zeros = torch.zeros(x.shape[0], 5, 6)
        total = zeros.scatter_add(1, j, x)
        count = torch.zeros(x.shape[0], 5).scatter_add(1, i, torch.ones_like(i, dtype=x.dtype))
        most = zeros.scatter_reduce(1, j, x, "amax", include_self=True)
        mean = total / count.clamp(min=1).unsqueeze(-1)
        return mean, most, mean.gather(1, j), zeros[0].index_add(0, i[0], x[0])

    return module(call, ["x", "i"])


@odd([Input("mask", ("batch", "sequence"), "mask"), f32("x", "batch", "sequence")])
def positions():
    def call(mask, x):
        place = (mask.cumsum(-1) - 1).clamp(min=0)
        last = mask.sum(-1, keepdim=True) - 1
        kept = x.masked_fill(mask == 0, float("-inf"))
        return x.gather(1, place), x.gather(1, last), kept.softmax(-1), kept.amax(-1)

    return module(call, ["mask", "x"])


@odd([f32("x", "batch", 12, 16, 8)])
def shifted_windows():
    import torch
    from torch import nn

    def call(self, x):
        n = x.shape[0]
        y = torch.roll(x, (-2, -2), (1, 2)).view(n, 3, 4, 4, 4, 8).transpose(2, 3)
        y = y.reshape(n * 12, 16, 8)
        q, k, v = self.qkv(y).chunk(3, -1)
        score = q @ k.transpose(-1, -2) + self.bias[self.place].view(16, 16)
        y = (score.softmax(-1) @ v).view(n, 3, 4, 4, 4, 8).transpose(2, 3).reshape(n, 12, 16, 8)
        return torch.roll(y, (2, 2), (1, 2))

    made = module(call, ["x"], qkv=nn.Linear(8, 24), bias=nn.Parameter(torch.randn(49)))
    rows = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
    apart = rows[:, :, None] - rows[:, None] + 3
    made.register_buffer("place", (apart[0] * 7 + apart[1]).flatten())
    return made


@odd([f32("x", "batch", "sequence", 6), f32("h", 4, "batch", 5), f32("c", 4, "batch", 5)])
def recurrent_states():
    from torch import nn

    def call(self, x, h, c):
        y, (h, c) = self.cell(x, (h, c))
        return y, h, c, self.other(y)[1]

    cell = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
    other = nn.GRU(10, 4, batch_first=True, bias=False)
    return module(call, ["x", "h", "c"], cell=cell, other=other)


@odd([f32("x", "batch", "sequence", 12), Input("mask", ("batch", "sequence"), "mask")])
def attention_masks():
    import torch
    from torch import nn

    def call(self, x, mask):
        s = x.shape[1]
        later = torch.ones(s, s, dtype=torch.bool).triu(1)
        y, w = self.attend(x, x, x, key_padding_mask=mask == 0, attn_mask=later)
        z, _ = self.cross(y, x[:, :1], x[:, :1], need_weights=False)
        return y + z, w

    made = module(
        call,
        ["x", "mask"],
        attend=nn.MultiheadAttention(12, 3, batch_first=True),
        cross=nn.MultiheadAttention(12, 2, batch_first=True, add_bias_kv=True),
    )
    return made


@odd(
    [f32("x", "batch", 3, 8), f32("k", "batch", 3, "past", 8), f32("v", "batch", 3, "past", 8)],
    past=(5, 9),
)
def cache():
    import torch
    from torch import nn

    def call(self, x, k, v):
        q, new_k, new_v = self.qkv(x).unsqueeze(2).chunk(3, -1)
        k, v = torch.cat([k, new_k], 2), torch.cat([v, new_v], 2)
        slopes = torch.tensor([0.5, 0.25, 0.125]).view(1, 3, 1, 1)
        far = torch.arange(k.shape[2]).to(x.dtype) - (k.shape[2] - 1)
        score = q @ k.transpose(-1, -2) / 8**0.5 + slopes * far
        return (score.softmax(-1) @ v).squeeze(2), k, v

    return module(call, ["x", "k", "v"], qkv=nn.Linear(8, 24))


@odd(FEATURES)
def routing():
    import torch
    import torch.nn.functional as F
    from torch import nn

    def call(self, x):
        value, index = self.gate(x).softmax(-1).topk(2, -1)
        chosen = F.one_hot(index, 4).to(x.dtype) * (value / value.sum(-1, keepdim=True))[..., None]
        y = torch.einsum("bsd,edf->bsef", x, self.experts).relu()
        return torch.einsum("...ke,...ef->...f", chosen, y), index

    return module(call, ["x"], gate=nn.Linear(24, 4), experts=nn.Parameter(torch.randn(4, 24, 8)))


@odd([f32("x", "batch", "sequence", 6)])
def codebook():
    import torch
    from torch import nn

    def call(self, x):
        flat = x.reshape(-1, 6)
        apart = flat.pow(2).sum(1, True) - 2 * flat @ self.codes.T + self.codes.pow(2).sum(1)
        index = apart.argmin(-1).view(x.shape[0], -1)
        y = nn.functional.embedding(index, self.codes)
        return y, index, (x - y).pow(2).mean((1, 2))

    return module(call, ["x"], codes=nn.Parameter(torch.randn(11, 6)))


@odd(image(4), height=(12, 18), width=(10, 14))
def assigned_slices():
    def call(x):
        y = x.clone()
        y[:, 0] = 1
        y[:, 1:3, ::2] = y[:, 1:3, ::2] * 2 + x[:, :1, ::2]
        y[..., -3:] += 0.5
        y[x > 0.9] = -1
        return y, x[:, [2, 0], 1:-1:3, -7::2], x[:, :, x.shape[2] // 2 :].flip(2, 3)

    return module(call, ["x"])


@odd([f32("x", "batch", 4, "time")], time=(31, 44))
def one_dimension():
    from torch import nn

    return nn.Sequential(
        nn.Conv1d(4, 8, 5, stride=2, padding=3, dilation=2, groups=2),
        nn.PReLU(8),
        nn.ConvTranspose1d(8, 6, 4, stride=3, padding=1, output_padding=2, groups=2),
        nn.InstanceNorm1d(6, affine=True),
        nn.MaxPool1d(3, 2, 1, ceil_mode=True),
        nn.Conv1d(6, 6, 3, padding=1, padding_mode="circular", groups=6),
        nn.AvgPool1d(2, 2),
        nn.Upsample(scale_factor=3, mode="linear"),
        nn.AdaptiveMaxPool1d(1),
    )


@odd([f32("x", "batch", 2, "frames", 8, 10)], frames=(5, 7))
def three_dimensions():
    from torch import nn

    return nn.Sequential(
        nn.ConvTranspose3d(2, 4, (2, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1), groups=2),
        nn.GroupNorm(2, 4),
        nn.Conv3d(4, 6, 3, padding=(1, 2, 2), dilation=(1, 2, 2), groups=2),
        nn.AvgPool3d((1, 2, 2), (1, 2, 1), (0, 1, 1)),
        nn.Upsample(scale_factor=(2, 1.5, 1), mode="trilinear"),
        nn.MaxPool3d(2, (1, 2, 2)),
    )


@odd(image(3, side=30))
def adaptive():
    import torch.nn.functional as F

    def call(x):
        return (
            F.adaptive_avg_pool2d(x, (3, 5)),
            F.adaptive_max_pool2d(x, (6, 1)),
            F.interpolate(x, size=(15, 10), mode="area"),
            F.interpolate(x, size=(11, 47), mode="nearest-exact"),
            F.interpolate(x, size=(17, 12), mode="bicubic", antialias=True),
            F.interpolate(x, size=(17, 42), mode="bicubic", align_corners=False),
        )

    return module(call, ["x"])


@odd(FEATURES, forms=DYNAMO)
def nested_conditions():
    import torch
    from torch import nn

    def call(self, x):
        def inner(y):
            return torch.cond(y.max() > 2, lambda z: self.a(z).tanh(), lambda z: z - 1, (y,))

        return torch.cond(x.shape[1] > 8, inner, lambda y: y.cumsum(1), (self.a(x),))

    return module(call, ["x"], a=nn.Linear(24, 24))


@odd(FEATURES, forms=DYNAMO)
def repeated():
    import torch
    from torch._higher_order_ops.while_loop import while_loop

    def call(x):
        def goes_on(i, y):
            return (i < 5) & (y.abs().max() < 100)

        return while_loop(goes_on, lambda i, y: (i + 1, y * 2 + x), (torch.tensor(0), x * 1))[1]

    return module(call, ["x"])


@odd([f32("x", "batch", "sequence", 5)], forms=("script-dynamic", "script-static"))
def viterbi():
    import torch

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.transitions = torch.nn.Parameter(torch.randn(5, 5))

        def forward(self, x):
            score = x[:, 0]
            back = torch.zeros([0, x.size(0), 5], dtype=torch.int64)
            for i in range(1, x.size(1)):
                best, index = (score.unsqueeze(2) + self.transitions).max(1)
                score = best + x[:, i]
                back = torch.cat([back, index.unsqueeze(0)])
            return score.max(1)[0], back

    return torch.jit.script(Decoder())


expression(
    "where_chain",
    MATRIX,
    "(torch.where(x > 1, 1.0, torch.where(x < -1, -1.0, torch.where(x.abs() < 0.1, 0.0, x))), "
    "((x > 0) ^ (x > 1)) | ~(x < -0.5), (x > 0).all(1), (x > 2).any(0), (x > 0).sum(1), "
    "(x - x.round()).abs() <= 0.1, x.bool().logical_not())",
)
expression(
    "beams",
    [f32("x", "batch", 30)],
    "(lambda v, i: (v, i // 10, i % 10, x.gather(1, i.flip(1)), "
    "torch.zeros_like(x).scatter(1, i, v), x.scatter(1, i, 7.0)))(*x.log_softmax(-1).topk(4))",
)
expression(
    "found_rows",
    MATRIX,
    "(lambda n: (x[n[:, 0], n[:, 1]], n.shape[0] * 2 + x.sum(), x.t()[:, n[:, 0]].sum(1)))"
    "((x > 0.3).nonzero())",
)
expression(
    "einsums",
    [f32("x", "batch", 3, "sequence", 4), f32("y", "batch", 3, 4, "target")],
    "(torch.einsum('...ij,...jk->...ki', x, y), "
    "torch.einsum('bhid,bhdj,hd->bij', x, y, x[0, :, 0]), torch.einsum('b...d->d...b', x), "
    "torch.einsum('hdi,hdi->h', x[0], x[0]))",
)
expression(
    "integers",
    [Input("i", ("batch", "sequence"), "indices", 200)],
    "((i.to(torch.uint8) + 100) // 3, i.to(torch.int8) * 2, i.to(torch.int32) >> 2, "
    "(i - 100).abs() % 17, torch.div(i - 100, 7, rounding_mode='trunc'), (i * i).sum(1), "
    "i.max(1), torch.bitwise_or(i, 8), i.float().pow(0.5).long(), -(i - 3) // 2)",
)
expression(
    "linear_algebra",
    [f32("x", "batch", 4, 4), f32("y", "batch", 4, 3)],
    "(torch.baddbmm(y, x, y, beta=0.5, alpha=2), torch.outer(x[0, 0], y[0, :, 0]), "
    "torch.cross(y[:, 0], y[:, 1], dim=-1), torch.linalg.norm(x, dim=(1, 2)), "
    "torch.block_diag(x[0], y[0]), x.matrix_power(3), x.tril(-1) + x.mT)",
)
expression(
    "sequences",
    FEATURES,
    "(x[:, 1:] - x[:, :-1], x.repeat_interleave(2, 1), *x.tensor_split(5, 2), "
    "*x.chunk(5, -1), torch.stack(x.unbind(2)[:3], 1), x.logcumsumexp(1), "
    "x.unfold(1, 3, 2).mean(-1), x.movedim(0, -1), x.swapaxes(0, 2).flatten(1), "
    "x.median(-1)[0], torch.std_mean(x, (1, 2))[0])",
)
expression(
    "similarities",
    [f32("x", "batch", "sequence", 8), f32("y", "batch", "target", 8)],
    "(torch.nn.functional.cosine_similarity(x[:, :, None], y[:, None], dim=-1), "
    "torch.nn.functional.normalize(x, dim=-1) @ y.mT, F.pairwise_distance(x[:, :1], y[:, :1]), "
    "torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), F.huber_loss(x[:, 0], y[:, 0]), "
    "F.kl_div(x[:, 0].log_softmax(-1), y[:, 0].softmax(-1), reduction='batchmean'))",
)
expression(
    "spectra",
    [f32("x", "batch", 32)],
    "(torch.fft.rfft(x).abs(), torch.fft.fft(x).real, "
    "torch.view_as_real(torch.fft.rfft(x, dim=0)))",
)
