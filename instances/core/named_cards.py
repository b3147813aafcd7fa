"""Cards by name: the bytes that an allocator has on them, which are fewer than their label says.

The driver keeps a part of a card for itself, for error correction among others. What counts is the
total that the CUDA runtime reports to a process, which PyTorch prints when an allocation fails:
"GPU 0 has a total capacity of 79.11 GiB". Each number here is such a total in hundredths of a GiB,
as it was printed in a public report that names the card; it is rounded by 5 MiB or so.
Drivers differ by a few hundredths. The context of CUDA and the workspaces of libraries come off it
and belong to the resident bytes; a card that also drives a screen has less.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from jettison.instances.core.units import BYTE_UNITS


@dataclass(frozen=True, slots=True)
class NamedCard:
    """Card with the bytes that are usable on it.

    Attributes
    ----------
    name
        What `Card` takes.
    usable_bytes
        Total memory as the CUDA runtime reports it.
    device
        Name of the card in full.
    source
        Repository and number of the report.
    """

    name: str
    usable_bytes: int
    device: str
    source: str


def _card(name: str, hundredths: int, device: str, source: str) -> tuple[str, NamedCard]:
    return name, NamedCard(name, hundredths * BYTE_UNITS["GiB"] // 100, device, source)


NAMED_CARDS = MappingProxyType(
    dict(
        (
            _card("a100-40", 3950, "A100, 40 GB", "TianheWu/CoSeR#10"),
            _card("a100-80", 7925, "A100, 80 GB", "levihsu/OOTDiffusion#235"),
            _card("gh200-96", 9450, "GH200, 96 GB", "vllm-project/vllm#9630"),
            _card("h100-80", 7911, "H100, 80 GB", "vllm-project/vllm#27508"),
            _card("h100-nvl-94", 9300, "H100 NVL, 94 GB", "ali-vilab/VACE#56"),
            _card("h200-141", 13981, "H200, 141 GB", "vllm-project/vllm#34553"),
            _card("rtx-2080", 776, "GeForce RTX 2080, 8 GB", "polarisZhao/PFLD-pytorch#10"),
            _card("rtx-3070", 778, "GeForce RTX 3070, 8 GB", "akshitac8/OW-DETR#46"),
            _card("rtx-3080", 978, "GeForce RTX 3080, 10 GB", "zai-org/CogVideo#34"),
            _card("rtx-3090", 2370, "GeForce RTX 3090, 24 GB", "GaoLii/DSP#10"),
            _card("rtx-4090", 2364, "GeForce RTX 4090, 24 GB", "3DTopia/Phidias-Diffusion#8"),
            _card("rtx-5090", 3137, "GeForce RTX 5090, 32 GB", "Wan-Video/Wan2.1#465"),
            _card("rtx-8000", 4746, "Quadro RTX 8000, 48 GB", "Victarry/stable-dreambooth#8"),
            _card("rtx-a4000", 1561, "RTX A4000, 16 GB", "DengKaiCQ/VGGT-Long#6"),
            _card("t4", 1475, "T4, 16 GB", "hpcaitech/Open-Sora#697"),
            _card("v100-16", 1578, "V100, 16 GB", "kchengiva/Shift-GCN#34"),
            _card("v100-32", 3174, "V100, 32 GB", "liucongg/ChatGLM-Finetuning#73"),
        )
    )
)
