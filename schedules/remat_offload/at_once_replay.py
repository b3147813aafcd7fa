"""Replay of an offload schedule whose transfers take all of their memory at once."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.contents import ChainContents, Tensor
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.pofo_rules import PofoRules
from jettison.schedules.remat_offload.transfer_operation import TransferOperation


class AtOnceReplay:
    r"""Executes operations on three queues, in exact integers.

    Computations, offloads and prefetches each run one after the other, in the order of the
    sequence; a transfer of :math:`x` bytes takes :math:`\lceil x / \beta \rceil` nanoseconds. An
    operation starts as soon as

    - the operation before it on its queue has ended;
    - what it reads is there: computed, arrived, or, for a prefetch, complete on the host;
    - its memory is free. A computation takes its outputs and its overhead when it starts, a
      prefetch all of its tensor;
    - every computation and prefetch before it in the sequence has started, so that memory is given
      out in that order.

    Memory returns when the computation that drops a tensor has ended, or at a drop, and not before
    the tensor's copy is complete and all that reads it has ended. An offload takes no memory and
    holds up nothing but the offloads after it.

    A broken rule is recorded, and the replay goes on as if it were kept.

    Parameters
    ----------
    chain
        The instance.
    link
        The link to the host.
    memory_bytes
        The limit; None to measure only.
    """

    def __init__(self, chain: Chain, link: Link, memory_bytes: int | None) -> None:
        self._chain = chain
        self._link = link
        self._limit_bytes = memory_bytes
        self._findings = Findings()
        self._contents = ChainContents(chain, self._findings.broken)
        self._stored_bytes = chain.input_bytes
        self._peak_bytes = chain.input_bytes
        # Memory that returns later, as (when, bytes).
        self._returns: list[tuple[int, int]] = []
        # Time of the last start that took memory, and times from which each queue is free.
        self._started_ns = self._computed_ns = self._offloaded_ns = self._prefetched_ns = 0
        # Times from which a tensor can be read, until which it is read or written, and from which
        # it is complete on the host.
        self._ready_ns: dict[Tensor, int] = {}
        self._busy_ns: dict[Tensor, int] = {}
        self._hosted_ns: dict[Tensor, int] = {}
        self._steps: list[Step] = []
        self._transfers: list[Transfer] = []
        self._seen: set[str | None] = set()
        self._pofo = PofoRules(len(chain))
        if memory_bytes is not None and chain.input_bytes > memory_bytes:
            self._findings.broken_at_start("the input", chain.input_bytes - memory_bytes)

    def run(self, operations: Sequence[ChainOperation | TransferOperation]) -> Replay:
        """Execute a sequence."""
        for position, operation in enumerate(operations):
            self._findings.at(position, str(operation))
            least = 1 if isinstance(operation, ChainOperation) else operation.least_stage
            if not least <= operation.stage <= len(self._chain):
                self._findings.broken(Rule.UNKNOWN_OPERATION, f"stage {operation.stage}")
            elif isinstance(operation, ChainOperation):
                self._compute(operation)
            elif operation.kind.is_offload:
                self._offload(operation)
            elif operation.kind.is_drop:
                self._drop(operation)
            else:
                self._prefetch(operation)
        for number in range(self._contents.gradient, 0, -1):
            self._findings.broken_at_end(Rule.UNFINISHED, f"B {number} is missing")
        is_pofo = self._contents.is_persistent and self._pofo.kept
        return Replay(
            steps=tuple(self._steps),
            peak_bytes=self._peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=ScheduleClass.POFO if is_pofo else ScheduleClass.ALL,
            transfers=tuple(self._transfers),
        )

    def _compute(self, operation: ChainOperation) -> None:
        effect = operation.apply_to(self._contents)
        earliest_ns = max(
            self._started_ns,
            self._computed_ns,
            *(self._ready_ns.get(tensor, 0) for tensor in effect.reads),
        )
        # Memory that it takes for good: its outputs, less the tensors that it frees at its end.
        stays_bytes = sum(tensor.size_bytes(self._chain) for tensor in effect.adds)
        late = [tensor for tensor in effect.drops if self._busy_ns.get(tensor, 0) > earliest_ns]
        stays_bytes -= sum(
            tensor.size_bytes(self._chain) for tensor in effect.drops if tensor not in late
        )
        taken_bytes = max(effect.extra_bytes, stays_bytes)
        start_ns = self._take(earliest_ns, taken_bytes, str(effect.output))
        end_ns = start_ns + effect.duration_ns
        during_bytes = self._stored_bytes - taken_bytes + effect.extra_bytes
        self._computed_ns = end_ns
        self._give_back(end_ns, taken_bytes - stays_bytes)
        for tensor in late:
            self._give_back(max(end_ns, self._busy_ns[tensor]), tensor.size_bytes(self._chain))
        for tensor in effect.reads:
            self._busy_ns[tensor] = max(self._busy_ns.get(tensor, 0), end_ns)
        for tensor in effect.adds:
            self._ready_ns[tensor] = self._busy_ns[tensor] = end_ns
        self._pofo.compute(operation, start_ns, end_ns)
        self._steps.append(
            Step(
                operation=str(operation),
                start_ns=start_ns,
                end_ns=end_ns,
                during_bytes=during_bytes,
                after_bytes=self._stored_at(end_ns),
                repeated=operation.computation in self._seen,
            )
        )
        self._seen.add(operation.computation)

    def _offload(self, operation: TransferOperation) -> None:
        tensor = self._expect_in_memory(operation)
        size_bytes = tensor.size_bytes(self._chain)
        start_ns = max(self._offloaded_ns, self._ready_ns.get(tensor, 0))
        end_ns = start_ns + self._link.transfer_ns(size_bytes)
        self._offloaded_ns = end_ns
        self._hosted_ns.setdefault(tensor, end_ns)
        self._busy_ns[tensor] = max(self._busy_ns.get(tensor, 0), end_ns)
        self._pofo.transfer(operation, start_ns, end_ns)
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, True))

    def _drop(self, operation: TransferOperation) -> None:
        tensor = self._expect_in_memory(operation)
        if tensor not in self._contents.tensors:
            return
        if tensor in self._hosted_ns:
            self._contents.send_away(tensor)
            self._pofo.drop()
        else:
            self._contents.give_up(tensor)
        self._give_back(
            max(self._started_ns, self._busy_ns.get(tensor, 0), self._hosted_ns.get(tensor, 0)),
            tensor.size_bytes(self._chain),
        )

    def _prefetch(self, operation: TransferOperation) -> None:
        tensor = operation.tensor
        if tensor in self._contents.tensors:
            self._findings.broken(Rule.IN_MEMORY_ALREADY, str(tensor))
        size_bytes = tensor.size_bytes(self._chain)
        earliest_ns = max(
            self._started_ns,
            self._prefetched_ns,
            self._expect_on_host(tensor),
            self._busy_ns.get(tensor, 0),
        )
        start_ns = self._take(earliest_ns, size_bytes, str(tensor))
        end_ns = start_ns + self._link.transfer_ns(size_bytes)
        self._prefetched_ns = end_ns
        self._contents.bring_back(tensor)
        self._ready_ns[tensor] = self._busy_ns[tensor] = end_ns
        self._pofo.transfer(operation, start_ns, end_ns)
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, False))
        if self._steps and start_ns < self._steps[-1].end_ns:
            running = self._steps[-1]
            self._steps[-1] = replace(
                running,
                during_bytes=max(running.during_bytes, self._stored_bytes),
                after_bytes=running.after_bytes + size_bytes,
            )

    def _expect_in_memory(self, operation: TransferOperation) -> Tensor:
        if operation.tensor not in self._contents.tensors:
            self._findings.broken(Rule.NOT_IN_MEMORY, str(operation.tensor))
        return operation.tensor

    def _expect_on_host(self, tensor: Tensor) -> int:
        if tensor not in self._hosted_ns:
            self._findings.broken(Rule.NO_COPY, str(tensor))
        return self._hosted_ns.get(tensor, 0)

    def _take(self, earliest_ns: int, size_bytes: int, tensor: str) -> int:
        """Take memory from `earliest_ns` on, as soon as there is enough; return when."""
        now_ns = earliest_ns
        # An operation without memory never waits, and does not break the limit.
        while self._returns and (
            self._returns[0][0] <= now_ns or (size_bytes and self._excess_bytes(size_bytes))
        ):
            returned_ns, returned_bytes = heapq.heappop(self._returns)
            now_ns = max(now_ns, returned_ns)
            self._stored_bytes -= returned_bytes
        excess_bytes = self._excess_bytes(size_bytes)
        if size_bytes and excess_bytes:
            self._findings.broken(Rule.OUT_OF_MEMORY, tensor, excess_bytes)
        self._stored_bytes += size_bytes
        self._peak_bytes = max(self._peak_bytes, self._stored_bytes)
        self._started_ns = now_ns
        return now_ns

    def _excess_bytes(self, size_bytes: int) -> int:
        if self._limit_bytes is None:
            return 0
        return max(self._stored_bytes + size_bytes - self._limit_bytes, 0)

    def _give_back(self, when_ns: int, size_bytes: int) -> None:
        if size_bytes:
            heapq.heappush(self._returns, (when_ns, size_bytes))

    def _stored_at(self, when_ns: int) -> int:
        returned = sum(size for returned_ns, size in self._returns if returned_ns <= when_ns)
        return self._stored_bytes - returned
