"""Small networks of transformers for text, sound and images: random weights, own losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

VOCABULARY = 256

BLOCKS = {
    "qwen3": ("Qwen3DecoderLayer",),
    "gemma2": ("Gemma2DecoderLayer",),
    "phi3": ("Phi3DecoderLayer",),
    "opt": ("OPTDecoderLayer",),
    "gpt_neox": ("GPTNeoXLayer",),
    "falcon": ("FalconDecoderLayer",),
    "bloom": ("BloomBlock",),
    "distilbert": ("TransformerBlock",),
    "electra": ("ElectraLayer",),
    "albert": ("AlbertLayer",),
    "deberta": ("DebertaV2Layer",),
    "bart": ("BartEncoderLayer", "BartDecoderLayer"),
    "clip": ("CLIPEncoderLayer",),
    "vit_mae": ("ViTMAELayer",),
    "segformer": ("SegformerLayer",),
    "wav2vec2": ("Wav2Vec2EncoderLayer",),
}

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "max_position_embeddings": 256,
}
_TOKENS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _text(batch: int, length: int) -> Tensor:
    return torch.randint(3, VOCABULARY, (batch, length))


def _causal(batch: int = 8, length: int = 128) -> dict[str, Any]:
    text = _text(batch, length)
    return {"input_ids": text, "labels": text.clone(), "use_cache": False}


def _masked(batch: int = 8, length: int = 128) -> dict[str, Any]:
    text = _text(batch, length)
    return {"input_ids": text, "attention_mask": torch.ones_like(text), "labels": text.clone()}


def qwen3() -> tuple[Any, ...]:
    """Qwen3: normalised queries and keys."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(**_SIZES, **_TOKENS, num_key_value_heads=2, head_dim=24)
    return Qwen3ForCausalLM(config).train(), _causal()


def gemma2() -> tuple[Any, ...]:
    """Gemma 2: local and global attention by turns, logits with a soft cap."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        **_SIZES, **_TOKENS, num_key_value_heads=2, head_dim=24, sliding_window=64
    )
    return Gemma2ForCausalLM(config).train(), _causal()


def phi3() -> tuple[Any, ...]:
    """Phi-3: projections in one product."""
    from transformers import Phi3Config, Phi3ForCausalLM

    return Phi3ForCausalLM(Phi3Config(**_SIZES, **_TOKENS)).train(), _causal()


def opt() -> tuple[Any, ...]:
    """OPT with dropout."""
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=96,
        word_embed_proj_dim=96,
        ffn_dim=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=256,
        **_TOKENS,
    )
    return OPTForCausalLM(config).train(), _causal()


def gpt_neox() -> tuple[Any, ...]:
    """GPT-NeoX: attention and perceptron side by side."""
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    return GPTNeoXForCausalLM(GPTNeoXConfig(**_SIZES, **_TOKENS)).train(), _causal()


def falcon() -> tuple[Any, ...]:
    """Falcon: one key and value for all heads."""
    from transformers import FalconConfig, FalconForCausalLM

    config = FalconConfig(
        vocab_size=VOCABULARY, hidden_size=96, num_hidden_layers=4, num_attention_heads=4, **_TOKENS
    )
    return FalconForCausalLM(config).train(), _causal()


def bloom() -> tuple[Any, ...]:
    """BLOOM: biases by distance in place of positions."""
    from transformers import BloomConfig, BloomForCausalLM

    config = BloomConfig(vocab_size=VOCABULARY, hidden_size=96, n_layer=4, n_head=4, **_TOKENS)
    return BloomForCausalLM(config).train(), _causal(8, 96)


def distilbert() -> tuple[Any, ...]:
    """DistilBERT, of masked words."""
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    config = DistilBertConfig(
        vocab_size=VOCABULARY, dim=96, n_layers=4, n_heads=4, hidden_dim=256, pad_token_id=0
    )
    return DistilBertForMaskedLM(config).train(), _masked()


def electra() -> tuple[Any, ...]:
    """ELECTRA, of masked words, with embeddings of another width."""
    from transformers import ElectraConfig, ElectraForMaskedLM

    config = ElectraConfig(**_SIZES, embedding_size=64, pad_token_id=0)
    return ElectraForMaskedLM(config).train(), _masked()


def albert() -> tuple[Any, ...]:
    """ALBERT: one layer for all depths."""
    from transformers import AlbertConfig, AlbertForMaskedLM

    config = AlbertConfig(**_SIZES, **_TOKENS, embedding_size=64)
    return AlbertForMaskedLM(config).train(), _masked()


def deberta() -> tuple[Any, ...]:
    """DeBERTa V2: content and position disentangled."""
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM

    config = DebertaV2Config(
        **_SIZES,
        pad_token_id=0,
        relative_attention=True,
        position_buckets=32,
        pos_att_type=["p2c", "c2p"],
    )
    return DebertaV2ForMaskedLM(config).train(), _masked(4, 96)


def bart() -> tuple[Any, ...]:
    """BART: encoder and decoder, tied embeddings."""
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=VOCABULARY,
        d_model=96,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_position_embeddings=256,
        decoder_start_token_id=2,
        **_TOKENS,
    )
    batch = {"input_ids": _text(8, 96), "labels": _text(8, 64), "use_cache": False}
    return BartForConditionalGeneration(config).train(), batch


def clip() -> tuple[Any, ...]:
    """CLIP: images and texts, and the contrast of both."""
    from transformers import CLIPConfig, CLIPModel

    text = {**_SIZES, **_TOKENS, "max_position_embeddings": 64, "projection_dim": 64}
    vision = {
        "hidden_size": 96,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 256,
        "image_size": 64,
        "patch_size": 8,
        "projection_dim": 64,
    }
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=64)
    batch = {
        "input_ids": _text(8, 48),
        "pixel_values": torch.randn(8, 3, 64, 64),
        "return_loss": True,
    }
    return CLIPModel(config).train(), batch


def vit_mae() -> tuple[Any, ...]:
    """Masked autoencoder of images: patches in a random order."""
    from transformers import ViTMAEConfig, ViTMAEForPreTraining

    config = ViTMAEConfig(
        hidden_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=256,
        image_size=64,
        patch_size=4,
        decoder_hidden_size=64,
        decoder_num_hidden_layers=2,
        decoder_num_attention_heads=4,
        decoder_intermediate_size=128,
        mask_ratio=0.5,
    )
    return ViTMAEForPreTraining(config).train(), {"pixel_values": torch.randn(8, 3, 64, 64)}


def segformer() -> tuple[Any, ...]:
    """SegFormer: classes of pixels."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[16, 32, 64, 96], decoder_hidden_size=64, num_labels=5
    )
    batch = {"pixel_values": torch.randn(4, 3, 96, 96), "labels": torch.randint(5, (4, 96, 96))}
    return SegformerForSemanticSegmentation(config).train(), batch


def wav2vec2() -> tuple[Any, ...]:
    """Wav2Vec2 that tells which word is spoken.

    With the loss of connectionist temporal classification no step can be traced ahead of time: what
    that saves for the backward pass is as long as the longest row of labels.
    """
    from transformers import Wav2Vec2Config, Wav2Vec2ForSequenceClassification

    config = Wav2Vec2Config(
        num_labels=32,
        hidden_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=256,
        classifier_proj_size=96,
        conv_dim=(32, 32, 32),
        conv_kernel=(10, 8, 4),
        conv_stride=(5, 4, 4),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        apply_spec_augment=False,
        layerdrop=0.0,
    )
    batch = {"input_values": torch.randn(4, 8000), "labels": torch.randint(0, 32, (4,))}
    return Wav2Vec2ForSequenceClassification(config).train(), batch
