"""The fifteen GPT-2 and Bert chains of the weight offloading paper, as its Table 1 implies them.

The table gives network, depth, batch size and the time of a step without waiting, measured on a
V100; the text gives a hidden size of 3072, 24 heads and "about 20 MB" of activations per layer for
a batch of 16. The rest is derived, so that the columns of the table come out:

- weights are in single precision. A GPT-2 of depth D is an embedding of (50257 + 1024) h
  parameters, D - 2 blocks of 12 h^2 + 13 h, h = 3072, and a head without weights, activation or
  time. A Bert of depth D is an embedding of (30522 + 512 + 4) h and D blocks whose inner layer has
  3072, with h = 2560: not the 3072 of the text, which would miss the column L2L by far;
- each layer saves batch x 128 x h numbers;
- all time is that of the blocks, in equal parts, .2525 of it forward. The embedding takes none;
- the memory is printed nowhere. Only its remainder modulo one block shows in the numbers, and not
  to the byte; `memory_mib` is one that reproduces all columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage

_BYTES = 4
_SEQUENCE = 128
_NS_PER_MS = 10**6
# The forward's share of a block's time, in parts of ten thousand.
_FORWARD_SHARE = 2525


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of Table 1.

    Attributes
    ----------
    network
        ``gpt2`` or ``bert``.
    depth, batch
        As printed.
    base_ms, ilp_ms, greedy_ms, l2l_ms, greedy_no_discount_ms
        The columns: time without waiting, the lower bound, Greedy, L2L, Greedy*.
    memory_mib
        A memory that reproduces them (derived).
    """

    network: str
    depth: int
    batch: int
    base_ms: int
    ilp_ms: int
    greedy_ms: int
    l2l_ms: int
    greedy_no_discount_ms: int
    memory_mib: int

    @property
    def name(self) -> str:
        """Name of the bundled instance."""
        return f"{self.network}-{self.depth}-b{self.batch}-table1"


PUBLISHED_ROWS = (
    PublishedRow("gpt2", 74, 64, 47421, 47421, 47493, 52707, 47493, 12048),
    PublishedRow("gpt2", 56, 64, 35553, 35553, 35625, 39542, 35625, 12048),
    PublishedRow("gpt2", 38, 64, 23694, 23694, 23838, 26387, 23838, 11424),
    PublishedRow("gpt2", 74, 32, 23697, 23697, 23769, 28983, 23769, 14236),
    PublishedRow("gpt2", 56, 32, 17762, 17762, 17834, 21751, 17834, 14236),
    PublishedRow("gpt2", 38, 32, 11840, 11840, 11948, 14533, 11948, 14190),
    PublishedRow("gpt2", 74, 16, 11612, 11612, 11684, 16898, 11715, 14682),
    PublishedRow("gpt2", 56, 16, 8697, 8697, 8769, 12686, 8800, 14682),
    PublishedRow("gpt2", 38, 16, 5794, 5794, 5902, 8487, 5934, 14645),
    PublishedRow("bert", 144, 64, 34486, 34486, 34499, 38379, 34499, 13640),
    PublishedRow("bert", 96, 64, 22965, 22965, 22978, 25577, 22978, 13640),
    PublishedRow("bert", 144, 32, 17443, 17443, 17483, 21336, 17483, 14508),
    PublishedRow("bert", 96, 32, 11617, 11617, 11657, 14230, 11657, 14508),
    PublishedRow("bert", 144, 16, 9090, 9090, 9183, 12983, 9215, 15256),
    PublishedRow("bert", 96, 16, 6058, 6058, 6085, 8670, 6085, 15256),
)


def published_chain(row: PublishedRow) -> Chain:
    """Return the chain that a row of the table implies."""
    if row.network == "gpt2":
        hidden, blocks = 3072, row.depth - 2
        embedding = (50257 + 1024) * hidden
        block = 12 * hidden**2 + 13 * hidden
    else:
        hidden, inner, blocks = 2560, 3072, row.depth
        embedding = (30522 + 512 + 4) * hidden
        # Queries, keys, values and the projection; two layers of the inner size; two norms.
        block = 4 * (hidden**2 + hidden) + 2 * hidden * inner + inner + hidden + 4 * hidden
    activation_bytes = row.batch * _SEQUENCE * hidden * _BYTES
    block_ns = row.base_ms * _NS_PER_MS // blocks
    forward_ns = block_ns * _FORWARD_SHARE // 10_000
    stages = [_stage("embedding", 0, 0, activation_bytes, embedding)]
    stages += [
        _stage(f"block{number}", forward_ns, block_ns - forward_ns, activation_bytes, block)
        for number in range(1, blocks + 1)
    ]
    if row.network == "gpt2":
        stages.append(_stage("head", 0, 0, 0, 0))
    return Chain(
        name=row.name,
        input_bytes=0,
        stages=tuple(stages),
        provenance=Provenance(
            source="derived",
            device="V100 16 GB, published totals",
            device_kind="cuda",
            model=row.network,
            model_arguments={"depth": row.depth, "hidden": hidden},
            batch=row.batch,
            input_shape=(row.batch, _SEQUENCE),
            dtype="float32",
            note=f"Table 1 of the paper on weight offloading; memory {row.memory_mib} MiB",
        ),
    )


def _stage(
    name: str, forward_ns: int, backward_ns: int, activation_bytes: int, parameters: int
) -> Stage:
    # Without an output, what an operation needs is equation (1) of the paper: see `WeightCycle`.
    return Stage(
        name=name,
        forward_ns=forward_ns,
        backward_ns=backward_ns,
        output_bytes=0,
        saved_bytes=activation_bytes,
        weight_bytes=parameters * _BYTES,
    )
