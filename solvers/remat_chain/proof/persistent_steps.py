"""Step functions that bound the persistent program from below, for certificates.

`certificates/remat_chain/persistent_bellman.py` checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.smaller_gradients import with_smaller_gradients
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.proof.program_steps import (
    Beginning,
    Key,
    ProgramProofParams,
    ProgramSteps,
)


class PersistentSteps(ProgramSteps):
    """Proof that every persistent schedule of a chain costs at least a given time."""

    tables: ClassVar[tuple[str, ...]] = ("p",)
    order: ClassVar[tuple[int, ...]] = (0,)

    def __init__(
        self,
        chain: Chain,
        memory_bytes: int,
        extra_ns: int | None,
        clock: Clock,
        params: ProgramProofParams,
    ) -> None:
        needs = ChainNeeds(with_smaller_gradients(chain))
        self._inputs, self._saved = needs.input_bytes.tolist(), needs.saved_bytes.tolist()
        self._saving, self._passing = needs.forward_all.tolist(), needs.forward_none.tolist()
        super().__init__(chain, memory_bytes, extra_ns, clock, params)

    def _beginnings(self, key: Key) -> Iterator[Beginning]:
        _, s, t = key
        after = () if s == t else ((Key(0, s + 1, t), self._saved[s]),)
        yield Beginning(self._saving[s][t], 0, after)
        for k in range(s + 1, t + 1):
            parts = (Key(0, s, k - 1), 0), (Key(0, k, t), self._inputs[k])
            yield Beginning(self._passing[s][t], self._again(s, k), parts)
