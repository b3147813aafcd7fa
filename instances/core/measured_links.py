"""Links to the host that others have measured, by name.

The measurements are those of Mist (EuroSys 2025), repository ``Dazz993/Mist``, Apache-2.0: eight
GPUs of one machine copy at once between pinned memory of the host and the device, in MiB and
milliseconds. A copy alone gives the rate of a direction, of which the slower one is taken, as a
link has one rate for both; equal copies in both directions at once give the total. Where the
total is at most 3 % above the rate, the link is half-duplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from jettison.instances.core.link import Link, SharedTotal


@dataclass(frozen=True, slots=True)
class MeasuredLink:
    """Link to the host as it was measured on one machine.

    Attributes
    ----------
    name
        What `parse_link` reads.
    link
        The link, with rates rounded to 10 MB/s.
    device
        The accelerators, of which each has such a link while all of them copy.
    measured
        The times from which the rates follow.
    source
        Repository, file and licence.
    """

    name: str
    link: Link
    device: str
    measured: str
    source: str


def _mist(name: str, link: Link, device: str, measured: str, path: str) -> tuple[str, MeasuredLink]:
    source = f"Dazz993/Mist, mist/tools/{path}, Apache-2.0"
    return name, MeasuredLink(name, link, device, measured, source)


# MiB/ms = 1.048576 GB/s.
MEASURED_LINKS = MappingProxyType(
    dict(
        (
            _mist(
                "a100-sxm4-40gb-x8",
                Link(6_190_000_000, SharedTotal(7_300_000_000)),
                "A100-SXM4-40GB, 8 at once",
                # 128 / 21.69 and 128 / 20.35 MiB/ms one way, 176 / 25.29 MiB/ms both ways.
                "to the device 192 MiB 32.75 ms, 320 MiB 54.44 ms; to the host 192 MiB 30.76 ms, "
                "320 MiB 51.11 ms; 88 MiB each way at once 25.29 ms",
                "results-final/bandwidth-a100-sxm4-40gb-n1-m8-intra2-inter1.json",
            ),
            _mist(
                "v100-sxm2-16gb-x8",
                Link.half_duplex(3_080_000_000),
                "V100-SXM2-16GB, 8 at once",
                # 128 / 43.48 and 128 / 41.33 MiB/ms one way, 80 / 27.28 MiB/ms both ways.
                "to the device 160 MiB 54.82 ms, 288 MiB 98.30 ms; to the host 160 MiB 52.22 ms, "
                "288 MiB 93.55 ms; 40 MiB each way at once 27.28 ms",
                "results-final/bandwidth-v100-sxm2-16gb-n1-m8-intra2-inter1.json",
            ),
            _mist(
                "l4-x8",
                Link.half_duplex(4_070_000_000),
                "L4, 8 at once",
                # 256 / 60.59 and 256 / 64.25 MiB/ms one way, 80 / 20.62 MiB/ms both ways.
                "to the device 256 MiB 60.78 ms, 512 MiB 121.37 ms; to the host 256 MiB 65.17 ms, "
                "512 MiB 129.42 ms; 24 MiB to the device and 56 MiB to the host at once 20.62 ms",
                "results/bandwidth-l4-n1-m8-intra2-inter1.json",
            ),
            _mist(
                "a10g-x8",
                Link.half_duplex(10_040_000_000),
                "A10G, 8 at once",
                # 256 / 23.05 and 256 / 26.73 MiB/ms one way, 40 / 4.06 MiB/ms both ways.
                "256 MiB to the device 23.05 ms, to the host 26.73 ms; 20 MiB each way at once "
                "4.06 ms",
                "backup/results-backup-0430/bandwidth-a10g-n1-m8.json",
            ),
        )
    )
)
