"""Models of transformers, from tiny configurations."""

from models import Model, Input, tokens

# One size for all: each class reads those of these names that it knows.
SMALL = dict(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=64,
    use_cache=False,
    hidden_dropout_prob=0.0,
)
GPT = dict(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False)
PAIR = dict(
    vocab_size=99,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    use_cache=False,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
)


def first(results):
    """The result that a user of the model looks at."""
    for name in (
        "logits",
        "last_hidden_state",
        "audio_values",
        "image_embeds",
        "pred_masks",
        "predicted_depth",
    ):
        if getattr(results, name, None) is not None:
            return getattr(results, name)
    return results[0]


def wrapped(model, order):
    """`model` as a module with positional inputs of the names in `order`, and one result."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

    # An exporter reads the names of inputs from the signature.
    space = {"first": first}
    named = ", ".join(f"{name}={name}" for name in order)
    text = f"def forward(self, {', '.join(order)}): return first(self.model({named}))"
    exec(text, space)
    Wrapped.forward = space["forward"]
    return Wrapped()


def transformer(name, model, config, values, inputs=None, part=None, attention="eager", **more):
    inputs = inputs or tokens()

    def make():
        import transformers

        settings = getattr(transformers, config)(**values)
        settings._attn_implementation = attention
        settings._experts_implementation = "eager"
        made = getattr(transformers, model)(settings)
        made = getattr(made, part)() if part else made
        return wrapped(made, [i.name for i in inputs])

    return Model(name, make, inputs, **more)


IMAGE = [Input("pixel_values", ("batch", 3, 32, 32))]
SPEECH = [Input("input_values", ("batch", "time"))]
MELS = [Input("input_features", ("batch", 16, 60))]
TEXTS = tokens(mask=False) + [Input("decoder_input_ids", ("batch", "target"), "indices", 99)]
LONG = dict(SMALL, max_position_embeddings=66, pad_token_id=1)
SEEN = dict(SMALL, image_size=32, patch_size=8)


ROWS = [
    transformer(
        "bert", "BertModel", "BertConfig", SMALL, extra=("half", "int8", "external", "inputs")
    ),
    transformer(
        "bert_sdpa", "BertForSequenceClassification", "BertConfig", SMALL, attention="sdpa"
    ),
    transformer(
        "distilbert",
        "DistilBertModel",
        "DistilBertConfig",
        dict(
            vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64
        ),
    ),
    transformer("roberta", "RobertaModel", "RobertaConfig", dict(SMALL, pad_token_id=1)),
    transformer("albert", "AlbertModel", "AlbertConfig", dict(SMALL, embedding_size=16)),
    transformer("electra", "ElectraModel", "ElectraConfig", dict(SMALL, embedding_size=16)),
    transformer(
        "deberta",
        "DebertaModel",
        "DebertaConfig",
        dict(SMALL, relative_attention=True, pos_att_type="c2p|p2c"),
    ),
    transformer(
        "deberta_v2",
        "DebertaV2Model",
        "DebertaV2Config",
        dict(
            SMALL,
            relative_attention=True,
            pos_att_type="c2p|p2c",
            position_buckets=8,
            share_att_key=True,
        ),
    ),
    transformer(
        "mobilebert",
        "MobileBertModel",
        "MobileBertConfig",
        dict(SMALL, embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16),
    ),
    transformer(
        "squeezebert", "SqueezeBertModel", "SqueezeBertConfig", dict(SMALL, embedding_size=32)
    ),
    transformer("mpnet", "MPNetModel", "MPNetConfig", SMALL),
    transformer(
        "xlnet",
        "XLNetModel",
        "XLNetConfig",
        dict(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=48),
    ),
    transformer("fnet", "FNetModel", "FNetConfig", SMALL, tokens(mask=False)),
    transformer("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT, extra=("half",)),
    transformer(
        "gpt_neo",
        "GPTNeoModel",
        "GPTNeoConfig",
        dict(SMALL, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]),
    ),
    transformer("gpt_neox", "GPTNeoXModel", "GPTNeoXConfig", SMALL),
    transformer("gptj", "GPTJModel", "GPTJConfig", dict(GPT, rotary_dim=4)),
    transformer("bloom", "BloomModel", "BloomConfig", GPT),
    transformer(
        "opt",
        "OPTForCausalLM",
        "OPTConfig",
        dict(SMALL, ffn_dim=48, word_embed_proj_dim=32, do_layer_norm_before=True),
    ),
    transformer(
        "llama",
        "LlamaForCausalLM",
        "LlamaConfig",
        dict(SMALL, num_key_value_heads=2),
        extra=("half", "bfloat16"),
    ),
    transformer(
        "llama_sdpa",
        "LlamaModel",
        "LlamaConfig",
        dict(SMALL, num_key_value_heads=2),
        attention="sdpa",
    ),
    transformer(
        "mistral",
        "MistralForCausalLM",
        "MistralConfig",
        dict(SMALL, num_key_value_heads=2, sliding_window=6),
    ),
    transformer(
        "mixtral",
        "MixtralModel",
        "MixtralConfig",
        dict(SMALL, num_key_value_heads=2, num_local_experts=3),
    ),
    transformer("qwen2", "Qwen2ForCausalLM", "Qwen2Config", dict(SMALL, num_key_value_heads=2)),
    transformer(
        "qwen3", "Qwen3ForCausalLM", "Qwen3Config", dict(SMALL, num_key_value_heads=2, head_dim=8)
    ),
    transformer("phi", "PhiForCausalLM", "PhiConfig", SMALL),
    transformer("phi3", "Phi3Model", "Phi3Config", dict(SMALL, pad_token_id=0)),
    transformer(
        "gemma", "GemmaForCausalLM", "GemmaConfig", dict(SMALL, num_key_value_heads=1, head_dim=8)
    ),
    transformer(
        "gemma2",
        "Gemma2Model",
        "Gemma2Config",
        dict(SMALL, num_key_value_heads=2, head_dim=8, sliding_window=6),
    ),
    transformer(
        "falcon", "FalconModel", "FalconConfig", dict(SMALL, new_decoder_architecture=False)
    ),
    transformer(
        "mamba",
        "MambaModel",
        "MambaConfig",
        dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4, use_cache=False),
        tokens(mask=False),
    ),
    transformer(
        "t5_encoder",
        "T5EncoderModel",
        "T5Config",
        dict(vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4),
    ),
    transformer(
        "t5",
        "T5ForConditionalGeneration",
        "T5Config",
        dict(
            vocab_size=99,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            use_cache=False,
            decoder_start_token_id=0,
        ),
        TEXTS,
    ),
    transformer("bart", "BartModel", "BartConfig", PAIR, TEXTS),
    transformer("marian", "MarianModel", "MarianConfig", PAIR, TEXTS),
    transformer("pegasus", "PegasusModel", "PegasusConfig", PAIR, TEXTS),
    transformer("m2m100", "M2M100Model", "M2M100Config", PAIR, TEXTS),
    transformer(
        "clip_vision",
        "CLIPVisionModelWithProjection",
        "CLIPVisionConfig",
        dict(SEEN, projection_dim=24),
        IMAGE,
    ),
    transformer(
        "clip_text", "CLIPTextModel", "CLIPTextConfig", dict(SMALL, bos_token_id=0, eos_token_id=98)
    ),
    transformer("vit", "ViTModel", "ViTConfig", SEEN, IMAGE, extra=("int8", "qdq")),
    transformer("deit", "DeiTModel", "DeiTConfig", SEEN, IMAGE),
    transformer(
        "beit", "BeitModel", "BeitConfig", dict(SEEN, use_relative_position_bias=True), IMAGE
    ),
    transformer(
        "dinov2",
        "Dinov2Model",
        "Dinov2Config",
        SEEN,
        [Input("pixel_values", ("batch", 3, "height", "width"))],
        sizes={"height": (32, 48), "width": (40, 56)},
    ),
    transformer(
        "segformer",
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        dict(
            depths=[1, 1, 1, 1],
            hidden_sizes=[8, 16, 24, 32],
            decoder_hidden_size=16,
            num_attention_heads=[1, 2, 2, 4],
        ),
        [Input("pixel_values", ("batch", 3, "height", "width"))],
    ),
    transformer(
        "mobilevit_hf",
        "MobileViTModel",
        "MobileViTConfig",
        dict(
            hidden_sizes=[16, 24, 32],
            neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 32],
            image_size=64,
            num_attention_heads=2,
        ),
        [Input("pixel_values", ("batch", 3, 64, 64))],
    ),
    transformer(
        "dpt",
        "DPTForDepthEstimation",
        "DPTConfig",
        dict(
            SEEN,
            num_hidden_layers=4,
            backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=16,
            is_hybrid=False,
        ),
        IMAGE,
    ),
    transformer("owlvit_vision", "OwlViTVisionModel", "OwlViTVisionConfig", SEEN, IMAGE),
    transformer(
        "sam_vision",
        "SamVisionModel",
        "SamVisionConfig",
        dict(
            hidden_size=32,
            output_channels=16,
            num_hidden_layers=3,
            num_attention_heads=4,
            image_size=64,
            patch_size=8,
            window_size=3,
            global_attn_indexes=[1],
            mlp_dim=48,
        ),
        [Input("pixel_values", ("batch", 3, 64, 64))],
    ),
    transformer(
        "detr_like",
        "ConditionalDetrModel",
        "ConditionalDetrConfig",
        dict(
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            num_queries=6,
            use_timm_backbone=False,
            use_pretrained_backbone=False,
            backbone=None,
            backbone_config=None,
        ),
        [Input("pixel_values", ("batch", 3, 64, 64))],
    ),
    transformer(
        "whisper_encoder",
        "WhisperModel",
        "WhisperConfig",
        dict(PAIR, num_mel_bins=16, max_source_positions=30, max_target_positions=20),
        MELS,
        part="get_encoder",
    ),
    transformer(
        "wav2vec2",
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        dict(
            SMALL,
            conv_dim=(16, 16, 16),
            conv_stride=(5, 2, 2),
            conv_kernel=(10, 3, 3),
            num_feat_extract_layers=3,
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=2,
        ),
        SPEECH,
    ),
    transformer(
        "hubert",
        "HubertModel",
        "HubertConfig",
        dict(
            SMALL,
            conv_dim=(16, 16, 16),
            conv_stride=(5, 2, 2),
            conv_kernel=(10, 3, 3),
            num_feat_extract_layers=3,
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=2,
        ),
        SPEECH,
    ),
    transformer(
        "time_series",
        "PatchTSTModel",
        "PatchTSTConfig",
        dict(
            num_input_channels=3,
            context_length=32,
            patch_length=4,
            patch_stride=4,
            num_hidden_layers=2,
            d_model=32,
            num_attention_heads=4,
            ffn_dim=48,
        ),
        [Input("past_values", ("batch", 32, 3))],
    ),
    transformer(
        "longformer",
        "LongformerModel",
        "LongformerConfig",
        dict(LONG, attention_window=[8] * 2),
        tokens(),
        sizes={"sequence": (24, 40)},
    ),
    transformer(
        "led",
        "LEDModel",
        "LEDConfig",
        dict(
            PAIR,
            attention_window=[8] * 2,
            max_encoder_position_embeddings=64,
            max_decoder_position_embeddings=64,
        ),
        tokens() + [TEXTS[1]],
        sizes={"sequence": (24, 40)},
    ),
    transformer(
        "dinov3",
        "DINOv3ViTModel",
        "DINOv3ViTConfig",
        dict(SEEN, num_register_tokens=2),
        [Input("pixel_values", ("batch", 3, "height", "width"))],
        sizes={"height": (32, 48), "width": (40, 56)},
    ),
    transformer(
        "encodec",
        "EncodecModel",
        "EncodecConfig",
        dict(hidden_size=16, num_filters=4, codebook_size=32, codebook_dim=16),
        [Input("input_values", ("batch", 1, "time"))],
    ),
    transformer(
        "yolos",
        "YolosForObjectDetection",
        "YolosConfig",
        dict(SEEN, image_size=[32, 32], num_detection_tokens=5, num_labels=4),
        [Input("pixel_values", ("batch", 3, 32, 32))],
    ),
]
