"""Small networks for images, of timm and torchvision: random weights, tens of MiB a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BLOCKS = {
    "convnextv2": ("ConvNeXtBlock",),
    "swin": ("SwinTransformerBlock",),
    "mixer": ("MixerBlock",),
    "efficientnet": ("InvertedResidual", "DepthwiseSeparableConv"),
    "regnet": ("Bottleneck",),
    "poolformer": ("MetaFormerBlock",),
    "cait": ("LayerScaleBlock",),
    "mobilenet_v2": ("InvertedResidual",),
    "densenet": ("_DenseLayer",),
    "shufflenet": ("InvertedResidual",),
    "googlenet": ("Inception",),
    "fcn_resnet": ("Bottleneck",),
    "lraspp": ("InvertedResidual",),
}


def _images(batch: int, size: int) -> Tensor:
    return torch.randn(batch, 3, size, size)


def convnextv2() -> tuple[Any, ...]:
    """ConvNeXt V2 of timm, with global response normalisation."""
    from timm.models.convnext import ConvNeXt

    model = ConvNeXt(
        num_classes=10, depths=(2, 2, 2, 2), dims=(24, 48, 96, 96), use_grn=True, ls_init_value=None
    )
    return model.train(), _images(6, 96), _square


def swin() -> tuple[Any, ...]:
    """Swin transformer of timm: windows that are shifted."""
    from timm.models.swin_transformer import SwinTransformer

    model = SwinTransformer(
        img_size=64,
        window_size=4,
        embed_dim=32,
        depths=(2, 2, 2),
        num_heads=(2, 4, 8),
        num_classes=10,
    )
    return model.train(), _images(8, 64), _square


def mixer() -> tuple[Any, ...]:
    """MLP-Mixer of timm."""
    from timm.models.mlp_mixer import MlpMixer

    model = MlpMixer(img_size=96, patch_size=8, num_blocks=6, embed_dim=96, num_classes=10)
    return model.train(), _images(8, 96), _square


def efficientnet() -> tuple[Any, ...]:
    """EfficientNet-lite0 of timm: depthwise convolutions."""
    import timm

    model = timm.create_model("efficientnet_lite0", num_classes=10, pretrained=False)
    return model.train(), _images(4, 96), _square


def regnet() -> tuple[Any, ...]:
    """RegNetY-002 of timm: groups of channels, squeeze and excitation."""
    import timm

    model = timm.create_model("regnety_002", num_classes=10, pretrained=False)
    return model.train(), _images(8, 96), _square


def poolformer() -> tuple[Any, ...]:
    """PoolFormer of timm: pooling in place of attention."""
    from timm.models.metaformer import MetaFormer, Pooling

    model = MetaFormer(
        num_classes=10,
        depths=(2, 2, 2),
        dims=(32, 64, 128),
        token_mixers=Pooling,
        downsample_norm=None,
    )
    return model.train(), _images(6, 96), _square


def cait() -> tuple[Any, ...]:
    """CaiT of timm: attention with talking heads."""
    from timm.models.cait import Cait

    model = Cait(img_size=64, patch_size=8, embed_dim=96, depth=6, num_heads=4, num_classes=10)
    return model.train(), _images(8, 64), _square


def mobilenet_v2() -> tuple[Any, ...]:
    """MobileNet V2 of torchvision."""
    from torchvision.models import mobilenet_v2 as build

    return build(num_classes=10).train(), _images(4, 96), _square


def densenet() -> tuple[Any, ...]:
    """DenseNet of torchvision: each layer reads all before it."""
    from torchvision.models import DenseNet

    model = DenseNet(growth_rate=12, block_config=(4, 6, 8), num_init_features=24, num_classes=10)
    return model.train(), _images(6, 96), _square


def shufflenet() -> tuple[Any, ...]:
    """ShuffleNet V2 of torchvision: channels that are split and shuffled."""
    from torchvision.models import shufflenet_v2_x0_5

    return shufflenet_v2_x0_5(num_classes=10).train(), _images(12, 128), _square


def googlenet() -> tuple[Any, ...]:
    """GoogLeNet of torchvision with its auxiliary losses: a named tuple of outputs."""
    from torchvision.models import GoogLeNet

    model = GoogLeNet(num_classes=10, aux_logits=True, init_weights=False)
    return model.train(), _images(4, 128), _sum_of_squares


def fcn_resnet() -> tuple[Any, ...]:
    """FCN of torchvision on a narrow ResNet-50: a dictionary of outputs."""
    from torchvision.models._utils import IntermediateLayerGetter
    from torchvision.models.resnet import Bottleneck, ResNet
    from torchvision.models.segmentation.fcn import FCN, FCNHead

    backbone = ResNet(
        Bottleneck,
        [2, 2, 2, 2],
        width_per_group=8,
        replace_stride_with_dilation=[False, True, True],
    )
    body = IntermediateLayerGetter(backbone, return_layers={"layer4": "out"})
    return FCN(body, FCNHead(2048, 5)).train(), _images(2, 128), _square_of_out


def lraspp() -> tuple[Any, ...]:
    """LR-ASPP of torchvision on MobileNet V3: a dictionary of outputs."""
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large

    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return model.train(), _images(4, 96), _square_of_out


def _square(output: Tensor) -> Tensor:
    return (output * output).mean()


def _square_of_out(output: Any) -> Tensor:
    return _square(output["out"])


def _sum_of_squares(output: Any) -> Tensor:
    return sum((_square(item) for item in output), torch.zeros(()))
