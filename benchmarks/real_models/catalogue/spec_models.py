"""Models of the specification: what broke, and what ran, when steps were first traced.

Each function returns a model in training mode with random weights, and its arguments: a tensor, a
tuple of positional arguments, or a mapping of keyword arguments; a loss follows where the model
does not return its own. Sizes are such that a step's activations are tens of MiB.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

VOCABULARY = 256

# Classes of the blocks that people checkpoint.
BLOCKS = {
    "convnext": ("ConvNeXtBlock",),
    "llama": ("LlamaDecoderLayer",),
    "whisper": ("WhisperEncoderLayer", "WhisperDecoderLayer"),
    "lstm": ("LSTM",),
    "mixtral": ("MixtralDecoderLayer",),
    "unet2d": ("ResnetBlock2D", "Attention"),
    "unet2d_condition": ("ResnetBlock2D", "BasicTransformerBlock"),
    "resnet": ("Bottleneck",),
    "vit": ("Block",),
    "gpt2": ("GPT2Block",),
    "bert": ("BertLayer",),
    "t5": ("T5Block",),
}


def tokens(batch: int, length: int, vocabulary: int = VOCABULARY) -> Tensor:
    """Draw tokens of an alphabet."""
    return torch.randint(vocabulary, (batch, length))


def causal_batch(batch: int, length: int) -> dict[str, Any]:
    """Draw tokens that are their own labels."""
    text = tokens(batch, length)
    return {"input_ids": text, "labels": text.clone(), "use_cache": False}


def convnext() -> tuple[Any, ...]:
    """ConvNeXt of timm, four stages."""
    from timm.models.convnext import ConvNeXt

    model = ConvNeXt(num_classes=10, depths=(2, 2, 4, 2), dims=(24, 48, 96, 192))
    return model.train(), torch.randn(8, 3, 96, 96), _square


def llama() -> tuple[Any, ...]:
    """Llama of transformers, with its own loss and tied weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).train(), causal_batch(8, 128)


def whisper() -> tuple[Any, ...]:
    """Whisper of transformers: speech to text, encoder and decoder."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=96,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_source_positions=150,
        max_target_positions=64,
        num_mel_bins=40,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = WhisperForConditionalGeneration(config).train()
    return model, {
        "input_features": torch.randn(6, 40, 300),
        "labels": tokens(6, 48),
        "use_cache": False,
    }


class _Tagger(nn.Module):
    """Three layers of an LSTM, each with a normalisation, between an embedding and logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 96)
        self.layers = nn.ModuleList(nn.LSTM(96, 96, batch_first=True) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(96) for _ in range(3))
        self.logits = nn.Linear(96, VOCABULARY)

    def forward(self, text: Tensor) -> Tensor:
        """Return logits."""
        x = self.embedding(text)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = nn.functional.gelu(x + norm(layer(x)[0]))
        found: Tensor = self.logits(x)
        return found


def lstm() -> tuple[Any, ...]:
    """LSTM of PyTorch."""
    return _Tagger().train(), tokens(128, 16), _own_labels


def mixtral() -> tuple[Any, ...]:
    """Mixtral of transformers: four experts, two for each token."""
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        max_position_embeddings=256,
    )
    return MixtralForCausalLM(config).train(), causal_batch(8, 128)


def unet2d() -> tuple[Any, ...]:
    """UNet2DModel of diffusers, unconditional."""
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=32,
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
    )
    batch = {"sample": torch.randn(4, 3, 32, 32), "timestep": torch.tensor([1, 20, 300, 7])}
    return model.train(), batch, _squared_sample


def unet2d_condition() -> tuple[Any, ...]:
    """UNet2DConditionModel of diffusers: noise, time and text."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=8,
    )
    batch = {
        "sample": torch.randn(4, 4, 16, 16),
        "timestep": torch.tensor([1, 20, 300, 7]),
        "encoder_hidden_states": torch.randn(4, 12, 32),
    }
    return model.train(), batch, _squared_sample


def resnet() -> tuple[Any, ...]:
    """ResNet of torchvision with 50 layers of half the width."""
    from torchvision.models.resnet import Bottleneck, ResNet

    model = ResNet(Bottleneck, [3, 4, 6, 3], num_classes=10, width_per_group=16)
    return model.train(), torch.randn(4, 3, 128, 128), _square


def vit() -> tuple[Any, ...]:
    """Vision transformer of timm."""
    from timm.models.vision_transformer import VisionTransformer

    model = VisionTransformer(
        img_size=96, patch_size=8, embed_dim=96, depth=6, num_heads=4, num_classes=10
    )
    return model.train(), torch.randn(8, 3, 96, 96), _square


def gpt2() -> tuple[Any, ...]:
    """GPT-2 of transformers with dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCABULARY, n_positions=256, n_embd=96, n_layer=4, n_head=4)
    return GPT2LMHeadModel(config).train(), causal_batch(8, 128)


def bert() -> tuple[Any, ...]:
    """BERT of transformers with a masked language model and an attention mask."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=256,
    )
    text = tokens(8, 128)
    mask = torch.ones_like(text)
    mask[:2, 100:] = 0
    batch = {"input_ids": text, "attention_mask": mask, "labels": text.clone()}
    return BertForMaskedLM(config).train(), batch


def t5() -> tuple[Any, ...]:
    """T5 of transformers: encoder and decoder with relative positions."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY,
        d_model=96,
        d_kv=24,
        d_ff=256,
        num_layers=3,
        num_heads=4,
        decoder_start_token_id=0,
    )
    batch = {"input_ids": tokens(8, 96), "labels": tokens(8, 48), "use_cache": False}
    return T5ForConditionalGeneration(config).train(), batch


def _square(output: Tensor) -> Tensor:
    return (output * output).mean()


def _squared_sample(output: Any) -> Tensor:
    return _square(output.sample)


def _own_labels(logits: Tensor) -> Tensor:
    # Any fixed targets do: only the operations matter.
    targets = torch.arange(logits.shape[0] * logits.shape[1]) % logits.shape[2]
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets)
