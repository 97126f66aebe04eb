"""Decoders with a past: language models that are given the keys and values of earlier steps.

Each comes as exporters write it: with past (`_past`, one graph, a past of any length, none too),
and merged (`_merged`: a first step without past and a later one under one If, see merge.py). One
bundle runs a first step and later ones with pasts of several lengths. Before a first step callers
of merged decoders give a past that is not looked at, of length 0 or 1.
"""

from language import GPT, PAIR, SMALL
from models import Input, Model
from written import module

LAYERS = 2
# Of a later step that exporters trace, a first step, later steps of one token, and another past.
PAST = {
    "batch": (2, 3, 2, 1),
    "sequence": (3, 6, 1, 1),
    "past": (5, 0, 8, 13),
    "encoder": (10, 8, 9, 7),
    "encoder_out": (10, 8, 9, 7),
}
# The same of merged ones: two first steps, one of them with a past that is not looked at.
MERGED = {
    "batch": (2, 3, 2, 3, 1),
    "sequence": (3, 6, 5, 1, 1),
    "past": (5, 0, 1, 6, 11),
    "total": (8, 6, 5, 7, 12),
    "encoder": (10, 8, 9, 7, 11),
    "encoder_out": (10, 0, 1, 7, 11),
    "branch": (1, 0, 0, 1, 1),
}


def cache_of(tensors, is_pair):
    """A cache of transformers from keys and values, layer by layer; from none an empty one."""
    from transformers import DynamicCache, EncoderDecoderCache

    if not is_pair:
        return DynamicCache(list(zip(tensors[::2], tensors[1::2])) or None)
    own = DynamicCache(list(zip(tensors[::4], tensors[1::4])) or None)
    other = DynamicCache(list(zip(tensors[2::4], tensors[3::4])) or None)
    return EncoderDecoderCache(own, other)


def tensors_of(cache, is_pair, has_encoder):
    """Keys and values, layer by layer; of the encoder's too where a step has computed them."""
    if not is_pair:
        return [t for layer in cache.layers for t in (layer.keys, layer.values)]
    found = []
    for own, other in zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers):
        found += [own.keys, own.values]
        found += [other.keys, other.values] if has_encoder else []
    return found


def is_past(name):
    return name.startswith("past_key_values")


def stepping(model, names, is_pair):
    """A module of positional inputs `names` around a model of transformers: one step of it."""
    has_past = any(map(is_past, names))

    def call(self, *tensors):
        given = dict(zip(names, tensors))
        past = [given.pop(n) for n in names if is_past(n)]
        given["past_key_values"] = cache_of(past, is_pair)
        if is_pair:
            from transformers.modeling_outputs import BaseModelOutput

            states = given.pop("encoder_hidden_states")
            given["encoder_outputs"] = BaseModelOutput(last_hidden_state=states)
            given["decoder_input_ids"] = given.pop("input_ids")
            if "encoder_attention_mask" in given:
                given["attention_mask"] = given.pop("encoder_attention_mask")
        results = self.model(**given, use_cache=True)
        tensors = tensors_of(results.past_key_values, is_pair, not has_past)
        return results.logits, *tensors

    return module(call, [n.replace(".", "_") for n in names], model=model)


def merged(model, first, later, outputs, is_pair):
    """What the merged model computes: what a step does not give is empty."""
    import torch

    names = [i.name for i in later]
    parts = [stepping(model, [i.name for i in part], is_pair) for part in (first, later)]

    def call(self, *tensors):
        given = dict(zip([*names, "use_cache_branch"], tensors))
        if not bool(given["use_cache_branch"]):
            return self.first(*(given[i.name] for i in first))
        found = dict(zip(later_outputs(outputs), self.later(*(given[n] for n in names))))
        nothing = [0 if isinstance(d, str) else d for d in outputs[-1].dims]
        nothing[2] = 1
        return tuple(found.get(o.name, torch.zeros(nothing)) for o in outputs)

    signature = [n.replace(".", "_") for n in [*names, "use_cache_branch"]]
    return module(call, signature, first=parts[0], later=parts[1])


def later_outputs(outputs):
    return [o.name for o in outputs if ".encoder." not in o.name]


def keys_and_values(prefix, own, encoder, heads, size):
    """The inputs or outputs that hold them; `encoder` is None in a language model."""
    found = []
    for layer in range(LAYERS):
        for who, length in (("decoder.", own), ("encoder.", encoder)):
            if length is None:
                continue
            middle = who if encoder else ""
            for what in ("key", "value"):
                dims = ("batch", heads, length, size)
                found.append(Input(f"{prefix}.{layer}.{middle}{what}", dims))
    return found


def of_transformers(model, config, values, attention="eager"):
    def make():
        import transformers

        settings = getattr(transformers, config)(**dict(values, use_cache=True))
        settings._attn_implementation = attention
        return getattr(transformers, model)(settings)

    return make


def by_hand():
    """A language model as people write it: masks are added to scores, positions are cut out of a
    table, and what is past stands in front. Its dims meet in additions, nowhere else."""
    from types import SimpleNamespace

    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
            self.norms = nn.ModuleList([nn.LayerNorm(32), nn.LayerNorm(32)])
            self.mlp = nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 32))

        def forward(self, x, mask, cache, index):
            n, s, _ = x.shape
            parts = self.qkv(self.norms[0](x)).view(n, s, 3, 4, 8).permute(2, 0, 3, 1, 4)
            keys, values = cache.update(parts[1], parts[2], index)
            scores = (parts[0] @ keys.transpose(2, 3)) / 8**0.5 + mask
            y = (scores.softmax(-1) @ values).transpose(1, 2).reshape(n, s, 32)
            x = x + self.out(y)
            return x + self.mlp(self.norms[1](x))

    class ByHand(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(99, 32), nn.Embedding(64, 32)
            self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])

        def forward(self, input_ids, attention_mask, past_key_values, use_cache):
            past, new = past_key_values.get_seq_length(), input_ids.shape[1]
            x = self.tokens(input_ids) + self.places.weight[past : past + new]
            later = torch.arange(past + new) > torch.arange(past, past + new)[:, None]
            mask = (1.0 - attention_mask[:, None, None].float()) * -1e4 + later.float() * -1e4
            for index, layer in enumerate(self.layers):
                x = layer(x, mask, past_key_values, index)
            logits = x @ self.tokens.weight.t()
            return SimpleNamespace(logits=logits, past_key_values=past_key_values)

    return ByHand()


def decoder(name, make, extra, heads=4, mask=True, states=0):
    """Two rows: with past, and merged. `extra` names the inputs beside ids, mask and past; of a
    model with an encoder they are its states and mask."""
    size = 8  # of a head
    is_pair = "encoder_hidden_states" in extra
    encoder = "encoder_out" if is_pair else None
    kinds = {
        "position_ids": Input("position_ids", ("batch", "sequence"), "positions"),
        "encoder_hidden_states": Input("encoder_hidden_states", ("batch", "encoder", states)),
        "encoder_attention_mask": Input("encoder_attention_mask", ("batch", "encoder"), "mask"),
    }

    def inputs(total):
        ids = Input("input_ids", ("batch", "sequence"), "indices", 99)
        masks = [Input("attention_mask", ("batch", total), "mask")] if mask else []
        return [ids, *masks, *(kinds[n] for n in extra)]

    past = keys_and_values("past_key_values", "past", encoder, heads, size)
    first = inputs("sequence")
    later = inputs("past + sequence") + past
    outputs = [Input("logits", ("batch", "sequence", 99))]
    outputs += keys_and_values("present", "past + sequence", encoder and "encoder", heads, size)
    own = [o for o in outputs if o.name in later_outputs(outputs)]

    def make_past():
        return stepping(make(), [i.name for i in later], is_pair)

    def make_merged():
        return merged(make(), first, later, outputs, is_pair)

    def parts(made):
        yield Model("first", lambda: made.first, first, outputs=outputs), 1
        yield Model("later", lambda: made.later, later, outputs=own), 0

    flag = Input("use_cache_branch", (1,), "flag")
    forms = ("dynamo-dynamic", "script-dynamic")
    given = inputs("total") + past + [flag]
    return [
        Model(f"{name}_past", make_past, later, sizes=PAST, outputs=own),
        Model(
            f"{name}_merged", make_merged, given, forms, sizes=MERGED, outputs=outputs, parts=parts
        ),
    ]


T5 = dict(
    vocab_size=99,
    d_model=32,
    d_kv=8,
    d_ff=48,
    num_layers=LAYERS,
    num_heads=4,
    decoder_start_token_id=0,
)
WHISPER = dict(PAIR, num_mel_bins=16, max_source_positions=30, max_target_positions=40)
GROUPED = dict(SMALL, num_key_value_heads=2)
QWEN = dict(GROUPED, head_dim=8)
OPT = dict(SMALL, ffn_dim=48, word_embed_proj_dim=32)
POSITIONS, ENCODER = ("position_ids",), ("encoder_hidden_states", "encoder_attention_mask")

ROWS = [
    *decoder("gpt2", of_transformers("GPT2LMHeadModel", "GPT2Config", GPT), POSITIONS),
    *decoder("gpt2_bare", of_transformers("GPT2LMHeadModel", "GPT2Config", GPT), (), mask=False),
    *decoder("llama", of_transformers("LlamaForCausalLM", "LlamaConfig", GROUPED), POSITIONS, 2),
    *decoder(
        "llama_sdpa", of_transformers("LlamaForCausalLM", "LlamaConfig", GROUPED, "sdpa"), (), 2
    ),
    *decoder("opt", of_transformers("OPTForCausalLM", "OPTConfig", OPT), ()),
    *decoder("qwen3", of_transformers("Qwen3ForCausalLM", "Qwen3Config", QWEN), (), 2),
    *decoder("by_hand", by_hand, ()),
    *decoder(
        "t5_decoder",
        of_transformers("T5ForConditionalGeneration", "T5Config", T5),
        ENCODER,
        mask=False,
        states=32,
    ),
    *decoder(
        "bart_decoder",
        of_transformers("BartForConditionalGeneration", "BartConfig", PAIR),
        ENCODER,
        mask=False,
        states=32,
    ),
    *decoder(
        "whisper_decoder",
        of_transformers("WhisperForConditionalGeneration", "WhisperConfig", WHISPER),
        ENCODER[:1],
        mask=False,
        states=32,
    ),
]
