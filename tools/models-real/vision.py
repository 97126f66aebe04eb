"""Models for images, from torchvision and timm, as small as they can be made by their arguments."""

from models import Model, Input, image


def torchvision(name, inputs=None, builder=None, extra=(), sizes=None, **config):
    def make():
        from torchvision import models

        room = models
        for part in (builder or name).split("."):
            room = getattr(room, part)
        return Outputs(room(**({} if builder else {"weights": None}), **config))

    return Model(name.split(".")[-1], make, inputs or image(), extra=extra, sizes=sizes or {})


def timm(name, inputs=None, extra=(), **config):
    def make():
        import timm as library

        return library.create_model(name, pretrained=False, num_classes=10, **config)

    short = name.replace("_patch16_224", "").replace("_224", "")
    return Model(f"timm_{short}", make, inputs or image(side=64), extra=extra)


def Outputs(model):
    """A module that gives tensors: segmentation gives a dictionary, some give auxiliary results."""
    import torch
    from models import flat

    class Tensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            results = flat(self.model(x))
            return results if len(results) > 1 else results[0]

    return Tensors()


def detector(name, **config):
    """A detector takes a list of images and gives a dictionary for each; one image is exported."""

    def make():
        import torch
        from torchvision.models import detection

        class Detector(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = getattr(detection, name)(weights=None, weights_backbone=None, **config)

            def forward(self, x):
                found = self.model([x])[0]
                return found["boxes"], found["scores"], found["labels"]

        return Detector()

    sizes = {"height": (96, 128), "width": (128, 96)}
    x = Input("x", (3, "height", "width"), "image")
    return Model(name, make, [x], sizes=sizes, is_set=True)


ROWS = [
    torchvision("resnet18", extra=("half", "bfloat16", "int8", "qdq", "external", "inputs")),
    torchvision("resnet50"),
    torchvision("mobilenet_v2", extra=("qdq", "half")),
    torchvision("mobilenet_v3_small", extra=("qdq",)),
    torchvision("efficientnet_b0"),
    torchvision("densenet121"),
    torchvision("inception_v3", image(side=96), init_weights=False, aux_logits=False),
    torchvision("googlenet", init_weights=False, aux_logits=False),
    torchvision("squeezenet1_1", extra=("qdq",)),
    torchvision("shufflenet_v2_x0_5"),
    torchvision("mnasnet0_5"),
    torchvision("regnet_y_400mf"),
    torchvision("regnet_x_400mf"),
    torchvision("convnext_tiny", image(side=64)),
    torchvision(
        "vit_b_16",
        image(side=64),
        "VisionTransformer",
        ("half", "int8", "qdq"),
        image_size=64,
        patch_size=16,
        num_layers=3,
        num_heads=4,
        hidden_dim=64,
        mlp_dim=128,
    ),
    torchvision("swin_t", extra=("half",)),
    torchvision("swin_v2_t", image(side=64)),
    torchvision(
        "maxvit_t",
        image(side=64),
        "MaxVit",
        input_size=(64, 64),
        stem_channels=16,
        block_channels=[16, 32],
        block_layers=[1, 2],
        head_dim=8,
        stochastic_depth_prob=0.0,
        partition_size=4,
    ),
    torchvision("vgg11", image(side=64), num_classes=10),
    torchvision("alexnet", image(side=96), num_classes=10),
    torchvision("resnext50_32x4d"),
    torchvision("segmentation.fcn_resnet50", weights_backbone=None),
    torchvision("segmentation.deeplabv3_mobilenet_v3_large", weights_backbone=None),
    torchvision("segmentation.lraspp_mobilenet_v3_large", weights_backbone=None),
    torchvision(
        "video.r3d_18", [Input("x", ("batch", 3, "frames", 48, 48))], sizes={"frames": (8, 12)}
    ),
    detector("ssd300_vgg16"),
    detector("ssdlite320_mobilenet_v3_large"),
    detector("retinanet_resnet50_fpn", min_size=96, max_size=128),
    detector("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=96, max_size=128),
    timm("deit_tiny_patch16_224", img_size=64, depth=4),
    timm("vit_tiny_patch16_224", image(), img_size=64, depth=3, dynamic_img_size=True),
    timm("mixer_s32_224", img_size=64),
    timm("resmlp_12_224", img_size=64),
    timm("gmlp_ti16_224", img_size=64),
    timm("poolformer_s12"),
    timm("mobilevit_xxs"),
    timm("mobilevitv2_050"),
    timm("coat_lite_tiny", img_size=64),
    timm("xcit_nano_12_p16_224", img_size=64, depth=3),
    timm("levit_128s", img_size=64),
    timm("hrnet_w18_small"),
    timm("nfnet_l0"),
    timm("resnest14d"),
    timm("efficientformerv2_s0", img_size=64),
    timm("edgenext_xx_small"),
    timm("ghostnet_050", image()),
    timm("repvgg_a0", image()),
    timm("beit_base_patch16_224", img_size=64, embed_dim=64, depth=3, num_heads=4),
    timm("eva02_tiny_patch14_224", image(side=56), img_size=56, depth=3),
    timm("convnextv2_atto", image()),
    timm("pvt_v2_b0", image()),
    timm("cait_xxs24_224", img_size=64, depth=3),
    timm("skresnet18", image()),
    timm("res2net50_14w_8s"),
    timm("fastvit_t8"),
    timm("repvit_m0_9"),
    timm("crossvit_9_240", image(side=240)),
    timm("volo_d1_224", img_size=64),
    timm("focalnet_tiny_srf"),
    timm("davit_tiny"),
    timm("lambda_resnet26t", image(side=64)),
    timm("halonet26t", image(side=128)),
    timm("sequencer2d_s", img_size=64, layers=(1, 1, 1, 1)),
    timm("tinynet_e", image()),
    timm("dpn48b", image()),
    timm("nest_tiny", img_size=64),
]
