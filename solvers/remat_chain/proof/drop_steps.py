"""Step functions that bound the persistent program with drops from below, for certificates.

`certificates/remat_chain/drops_bellman.py` checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.smaller_gradients import with_smaller_gradients
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.proof.program_steps import (
    Beginning,
    Key,
    ProgramProofParams,
    ProgramSteps,
)


class DropSteps(ProgramSteps):
    """Proof that every persistent schedule with drops costs at least a given time."""

    tables: ClassVar[tuple[str, ...]] = ("C0", "E0", "C1", "E1")
    # Dropping the input of the last stage leads to the same sub-chain with that stage saved.
    order: ClassVar[tuple[int, ...]] = (3, 2, 1, 0)

    def __init__(
        self,
        chain: Chain,
        memory_bytes: int,
        extra_ns: int | None,
        clock: Clock,
        params: ProgramProofParams,
    ) -> None:
        needs = DropNeeds(with_smaller_gradients(chain))
        self._inputs, self._saved = needs.input_bytes.tolist(), needs.saved_bytes.tolist()
        self._saving, self._passing = needs.forward_all.tolist(), needs.forward_none.tolist()
        super().__init__(chain, memory_bytes, extra_ns, clock, params)

    def _beginnings(self, key: Key) -> Iterator[Beginning]:
        table, s, t = key
        ready, dropping = table >= 2, table % 2
        # The tables of the first part of a split: its input stays, or is dropped on the way.
        stays, drops = (2, 3) if ready else (0, 1)
        counted = self._inputs[s] if dropping else 0
        after = () if s == t else ((Key(stays, s + 1, t), self._saved[s]),)
        yield Beginning(self._saving[table][s][t], 0, after)
        for k in range(s + 1, t + 1):
            again, needs = self._again(s, k), self._passing[table][s][t]
            held = counted + self._inputs[k]
            parts = (Key(dropping, s, k - 1), 0), (Key(stays, k, t), held)
            yield Beginning(needs, again, parts)
            if k < t or not ready:
                parts = (Key(2 + dropping, s, k), 0), (Key(drops, k, t), counted)
                yield Beginning(needs, again, parts)
