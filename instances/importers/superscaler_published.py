"""The operator profiles on one device that Aceso's authors published, known by their bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from jettison.instances.core.provenance import Provenance

_NAME = re.compile(
    r"(?P<model>.+)_mbs(?P<batch>[1-9][0-9]{0,5})_tp(?P<degree>[1-9][0-9]{0,5})_algo(?P<algorithm>[0-9])"
)


class Model(NamedTuple):
    """Facts about a model that its profiles leave out, from the search that reads them.

    T5 has as many layers in its encoder as in its decoder, which reads 512 tokens.
    """

    name: str
    layers: int | None
    sequence: int | None
    dtype: str


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        **{
            f"gpt_{size}": Model(f"gpt3-{size.replace('_', '.').lower()}", layers, 2048, "float16")
            for size, layers in (
                ("350M", 24),
                ("1_3B", 24),
                ("2_6B", 32),
                ("6_7B", 32),
                ("13B", 40),
            )
        },
        **{
            f"t5_{size}": Model(f"t5-{size.lower()}", 24, 2048, "float16")
            for size in ("770M", "3B", "6B", "11B")
        },
        **{
            f"resnet_{size}": Model(
                f"wide-resnet-{size.replace('_', '.').lower()}", None, None, "float32"
            )
            for size in ("500M", "2B", "4B", "6_8B", "13B")
        },
    }
)
# The first 128 bits of the SHA-256 of each file.
_FILES: Mapping[str, str] = MappingProxyType(
    {
        "75524715b1274bf67744c17c3db45ea7": "gpt_13B_mbs1_tp1_algo0",
        "693e8eaf6354961b2a65f7262268d0aa": "gpt_13B_mbs2_tp1_algo0",
        "332eee6361ee8428d7bcee1f8e17586c": "gpt_13B_mbs4_tp1_algo0",
        "da7e79e22ee5b2833fef536158dfee8a": "gpt_13B_mbs8_tp1_algo0",
        "6a494f33037e1d7820b269cd88038c62": "gpt_1_3B_mbs1_tp1_algo0",
        "a43d9de31f98ca47d835f905d25e8317": "gpt_1_3B_mbs2_tp1_algo0",
        "c78eae977ad83a130e7800b2a05bfcfd": "gpt_1_3B_mbs4_tp1_algo0",
        "a93258a636918476da2bc34013749a2c": "gpt_1_3B_mbs8_tp1_algo0",
        "64e909a38ac9a90127d923e1a2ca2202": "gpt_2_6B_mbs1_tp1_algo0",
        "0db19c2414fccd5b03a7aa5f422d85a3": "gpt_2_6B_mbs2_tp1_algo0",
        "4dd98c8dd3905cef4446dffb917bcb12": "gpt_2_6B_mbs4_tp1_algo0",
        "b4316380923ca8b4a44eb34b71d17038": "gpt_2_6B_mbs8_tp1_algo0",
        "7dd9cd75116fefebdfa42ef80b96f2d3": "gpt_350M_mbs1_tp1_algo0",
        "b82e9d21d28c10b649af4481ec715553": "gpt_350M_mbs2_tp1_algo0",
        "34f84f7540cc8e9f64c90f581a98500e": "gpt_350M_mbs4_tp1_algo0",
        "86997014ea1e9d9702e49078b50f6230": "gpt_350M_mbs8_tp1_algo0",
        "97f16be8bed925f710a11df55f6ddd8a": "gpt_6_7B_mbs1_tp1_algo0",
        "1f6eb44fb90c56554fa5779a29a0a8ba": "gpt_6_7B_mbs2_tp1_algo0",
        "e877d88bb78d677fd0b9808c7e29ab78": "gpt_6_7B_mbs4_tp1_algo0",
        "483bc935702a630f55fbc15457a16b03": "gpt_6_7B_mbs8_tp1_algo0",
        "7aab348151ee104fde8a79d97343c8b9": "resnet_13B_mbs16_tp1_algo0",
        "30573e5b1192249911f70ffa59117aed": "resnet_13B_mbs32_tp1_algo0",
        "1cc5d2a6743da17c9588e6d4616bf47b": "resnet_13B_mbs48_tp1_algo0",
        "f3b6444deee279372b782f847421b58f": "resnet_13B_mbs64_tp1_algo0",
        "abb8c3028218547f18b1c8ff2273be36": "resnet_2B_mbs16_tp1_algo0",
        "7b31fb253d91710546c6779459781e16": "resnet_2B_mbs32_tp1_algo0",
        "b473cedcc0bdc70522ee7dea265630e7": "resnet_2B_mbs48_tp1_algo0",
        "3d7664e7fec64b38cac5446e427d4fc3": "resnet_2B_mbs64_tp1_algo0",
        "4dae4f43a3675e13a91d6a1534ab81b6": "resnet_4B_mbs16_tp1_algo0",
        "e8b9fbe5c12ea29b9482fc07522c54db": "resnet_4B_mbs32_tp1_algo0",
        "8b047da3db9a03d8edb9cd5dd20e6407": "resnet_4B_mbs48_tp1_algo0",
        "b3508ee04454b344122302378fcdd8fe": "resnet_4B_mbs64_tp1_algo0",
        "cf0d31e2a6cdd1c971aff9144eb641bc": "resnet_500M_mbs16_tp1_algo0",
        "d8d35973f725c1f12e06ca6663004548": "resnet_500M_mbs32_tp1_algo0",
        "e874ec7ac3377ce5e54c6cf9a00c1b7e": "resnet_500M_mbs48_tp1_algo0",
        "c74118f759b4372a2ab23a128856aa24": "resnet_500M_mbs64_tp1_algo0",
        "5c66011f03a1845f3cfbfd65bdbb9d42": "resnet_6_8B_mbs16_tp1_algo0",
        "3aa54ae477bd997cd92b913754802618": "resnet_6_8B_mbs32_tp1_algo0",
        "5b5d6a7141df303c34d4e529a2e6f9c1": "resnet_6_8B_mbs48_tp1_algo0",
        "f00e6afa4a60cf3a2de3670d1cbaf16e": "resnet_6_8B_mbs64_tp1_algo0",
        "f137ee694c174b61da08590ebf539d0f": "t5_11B_mbs1_tp1_algo0",
        "a95c375ae942c252b6577ce4b5ecd1f2": "t5_11B_mbs2_tp1_algo0",
        "442f4060b358ca7ef3d0f5778c8b8d49": "t5_11B_mbs4_tp1_algo0",
        "cb4a37451afca0dcf06e1286fc1ef5b5": "t5_3B_mbs1_tp1_algo0",
        "38952de72654741676bf1a9f4142dd4b": "t5_3B_mbs2_tp1_algo0",
        "96ff9cfb3684a073071e0c1d46d8b12a": "t5_3B_mbs4_tp1_algo0",
        "84f6232d70fb1cac2042b8bf01be97f1": "t5_3B_mbs8_tp1_algo0",
        "eaf6a0381fe89525d1f0e93f377a2600": "t5_6B_mbs1_tp1_algo0",
        "e0fa55dd44baeb46bd6535071934dddc": "t5_6B_mbs2_tp1_algo0",
        "a479b47320d66e8581a76bbf1e8cf504": "t5_6B_mbs4_tp1_algo0",
        "bd5898f431e204ccc61c5ea12bbc14a5": "t5_6B_mbs8_tp1_algo0",
        "3063f4134ed624dacd846d2d00b99653": "t5_770M_mbs1_tp1_algo0",
        "77bb9f24f7636f8d73dddc31c7b3a12f": "t5_770M_mbs2_tp1_algo0",
        "d5ed9a58350ad4f8abd3c99c005cfb7d": "t5_770M_mbs4_tp1_algo0",
        "2afb56cf20fcf4e52ca7bfe47970ed5a": "t5_770M_mbs8_tp1_algo0",
    }
)


class Run(NamedTuple):
    """Run that a profile tells of by its name; `origin` is that of a published file alone."""

    name: str
    batch: int | None
    degree: int
    layers: int | None
    origin: Provenance


def run_of(text: str, stem: str, device: str | None) -> Run:
    """Return the run that a profile is of.

    Parameters
    ----------
    text
        Contents of the file.
    stem
        Name of the file, which counts where the contents are not known.
    device
        Name of the device, unless it is known.
    """
    known = _FILES.get(hashlib.sha256(text.encode("utf-8")).hexdigest()[:32])
    parts = _NAME.fullmatch(known or stem)
    if parts is None:
        return Run(stem, None, 1, None, Provenance(source="imported", device=device))
    model, batch, degree = parts["model"], int(parts["batch"]), int(parts["degree"])
    facts = MODELS.get(model)
    name = facts.name if facts is not None else model.lower()
    label = f"{name}-b{batch}" + (f"-tp{degree}" if degree > 1 else "")
    arguments = {"tensor_parallel": degree, "algorithm": int(parts["algorithm"])}
    if known is None or facts is None:
        origin = Provenance(
            source="imported", device=device, model=model, model_arguments=arguments, batch=batch
        )
        return Run(label, batch, degree, None, origin)
    origin = Provenance(
        source="imported",
        repository="microsoft/SuperScaler",
        commit="fa80ad0",
        file=f"profiler/profiled-time-eurosys/{known}.csv",
        licence="MIT",
        device="V100-32",
        device_kind="cuda",
        model=model,
        model_arguments=arguments,
        batch=batch,
        sequence=facts.sequence,
        dtype=facts.dtype,
    )
    return Run(f"{label}-v100", batch, degree, facts.layers, origin)
