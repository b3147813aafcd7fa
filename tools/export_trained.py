"""Write the bundled chains with an optimizer, for one budget, and the index.

Run ``python -m tools.export_trained`` from a checkout. The chains are bundled already; what the
optimizer takes on the device was measured with those of Sailor, and is a rate of memory elsewhere.
What it takes on the host is an assumption, which each note states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from jettison.instances.catalog import load, save
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.with_optimizer import Optimizer, with_optimizer
from tools.bundled_index import DATA, write_index

_NS_PER_S = 10**9


@dataclass(frozen=True)
class Measured:
    """Time of the optimizer of all stages together, single precision."""

    update_ns: int


@dataclass(frozen=True)
class OfMemory:
    """Rate of the device's memory, through which an update in mixed precision goes once."""

    bytes_per_s: int


# Name, chain, the optimizer on the device, and the rate of the host's memory.
TRAINED: tuple[tuple[str, str, Measured | OfMemory, int], ...] = (
    ("opt-30b-b4-gh200", "opt-30b-b4-gh-96", Measured(939_500_000), 300 * 10**9),
    ("opt-350m-b1-2080-adam", "opt-350m-b1-rtx-2080", Measured(236_080_000), 40 * 10**9),
    ("llama-3-8b-b1-gh200", "llama-3-8b-b1-gh-96", Measured(324_520_000), 300 * 10**9),
    ("gpt3-6.7b-b1-v100-adam", "gpt3-6.7b-b1-v100", OfMemory(900 * 10**9), 100 * 10**9),
    ("gpt3-13b-b1-v100-adam", "gpt3-13b-b1-v100", OfMemory(900 * 10**9), 100 * 10**9),
)
# Bytes that Adam reads and writes for each parameter: in single precision weights, gradient and two
# moments, of which all but the gradient are written; in mixed precision the single copy as well.
_SINGLE_TRAFFIC, _MIXED_TRAFFIC = 28, 30


def trained_chain(
    name: str, base: str, device: Measured | OfMemory, host_bytes_per_s: int
) -> Chain:
    """Return a bundled chain with Adam."""
    chain = load(base)
    assert isinstance(chain, Chain)
    weights = sum(stage.weight_bytes for stage in chain)
    match device:
        case Measured(update_ns):
            # Two moments of 4 bytes beside a weight of 4.
            states, traffic, parameter_bytes = 2, _SINGLE_TRAFFIC, 4
            device_rate = weights * _NS_PER_S // update_ns
            how = f"The optimizer takes {update_ns} ns on the device, as measured, shared out by"
        case OfMemory(bytes_per_s):
            # A copy in single precision and two moments, 12 bytes beside a weight of 2.
            states, traffic, parameter_bytes = 6, _MIXED_TRAFFIC, 2
            device_rate = bytes_per_s * parameter_bytes // traffic
            how = f"Assumed: the optimizer moves {traffic} bytes for each parameter at"
            how += f" {bytes_per_s} bytes per second on the device, by"
        case other:
            assert_never(other)
    host_rate = host_bytes_per_s * parameter_bytes // traffic
    found = with_optimizer(chain, Optimizer(states, device_rate, host_rate))
    note = (
        f"{base} with Adam. {how} weights. Assumed: {traffic} bytes for each parameter at "
        f"{host_bytes_per_s} bytes per second on the host. {chain.provenance.note or ''}"
    )
    return replace(found, name=name, provenance=_derived(chain.provenance, note.strip()))


def _derived(known: Provenance, note: str) -> Provenance:
    return replace(known, source="derived", note=note)


def main() -> None:
    """Write the files."""
    folder = DATA / "trained"
    folder.mkdir(exist_ok=True)
    for row in TRAINED:
        save(trained_chain(*row), folder / f"{row[0]}.json")
    write_index(DATA)


if __name__ == "__main__":
    main()
