"""A second judge of sequences on a chain, with drops: time, peak, broken rules, and the class.

Written from Table 1 of RR-9302 and the four rules of the class, with words for tensors and a list
of the lives of values. It reads the fields of `Chain` and `Stage`, and shares no code with the
replay. A life of a value lasts as long as a stage's output is in memory, plain or as a part of what
was saved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

Word = tuple[str, int]
FORWARDS = ("F_all", "F_ck", "F_none")


@dataclass
class Life:
    """One life of a stage's output: who kept it when reading it, and how it ended."""

    stage: int
    readers: list[str] = field(default_factory=list)
    ended_by: str = ""
    # Whether all that the stage behind it saved was in memory at the end.
    covered: bool = False


@dataclass
class Referee:
    """Runs a sequence once; the verdict is in the attributes."""

    chain: Chain
    words: list[Word]
    time_ns: int = 0
    peak_bytes: int = 0
    broken: list[tuple[int | None, str, str]] = field(default_factory=list)
    # Rules 1 and 4 of the class, as far as they are decided on the way.
    saved_stay: bool = True
    newest_first: bool = True
    lives: list[Life] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.chain.stages)
        self.memory = {"a0": self.chain.input_bytes}
        self.gradient = count
        self.alive = {0: Life(0)}
        self.peak_bytes = self._stored()
        for position, (kind, stage) in enumerate(self.words):
            if not (0 if kind == "D" else 1) <= stage <= count:
                self.broken.append((position, "unknown operation", f"stage {stage}"))
                continue
            if kind in FORWARDS:
                self._forward(position, kind, stage)
            elif kind == "B":
                self._backward(position, stage)
            else:
                self._drop(position, stage)
            self.peak_bytes = max(self.peak_bytes, self._stored())
        self.lives += self.alive.values()
        self.broken += [
            (None, "unfinished", f"B {stage} is missing") for stage in range(self.gradient, 0, -1)
        ]

    @property
    def schedule_class(self) -> str:
        """The smallest of the four classes of schedules of chains."""
        drops = any(kind == "D" for kind, _ in self.words)
        consumed = [life for life in self.lives if life.ended_by == "F_none"]
        if not drops and all(life.readers == [] for life in consumed):
            return "persistent"
        if self.saved_stay and self.newest_first and all(map(_is_allowed, self.lives)):
            return "persistent with drops"
        return "all schedules" if drops else "table-1"

    def _forward(self, position: int, kind: str, stage: int) -> None:
        fields = self.chain.stages[stage - 1]
        between = range(stage, self.gradient)
        self.newest_first &= stage <= self.gradient
        self.newest_first &= not any(self._has(number) for number in between)
        if not self._has(stage - 1):
            self.broken.append((position, "input missing", f"a^{stage - 1}"))
        size = fields.saved_bytes if kind == "F_all" else fields.output_bytes
        extra = saving_overhead(fields) if kind == "F_all" else fields.forward_overhead_bytes
        self._runs(fields.forward_ns, size + extra)
        source = self.alive.get(stage - 1)
        if kind == "F_none":
            self._end(stage - 1, kind)
            # Who reads what was saved reads a value that has to stay.
            if self.memory.pop(f"A{stage - 1}", None) is not None and source is not None:
                source.readers.append("F_all")
            self.memory.pop(f"a{stage - 1}", None)
        elif source is not None:
            source.readers.append(kind)
        if kind == "F_all":
            self.saved_stay &= f"A{stage}" not in self.memory
            self.memory.pop(f"a{stage}", None)
            self.memory[f"A{stage}"] = size
        elif f"A{stage}" not in self.memory:
            self.memory[f"a{stage}"] = size
        self.alive.setdefault(stage, Life(stage))

    def _backward(self, position: int, stage: int) -> None:
        fields = self.chain.stages[stage - 1]
        if self.gradient != stage:
            self.broken.append((position, "wrong gradient", f"δ^{stage}"))
        if f"A{stage}" not in self.memory:
            self.broken.append((position, "input missing", f"ā^{stage}"))
        if not self._has(stage - 1):
            self.broken.append((position, "input missing", f"a^{stage - 1}"))
        written = 0 if self.chain.backward_overhead_holds_gradient else self._slope(stage - 1)
        self._runs(fields.backward_ns, written + fields.backward_overhead_bytes)
        self.memory.pop(f"a{stage - 1}", None)
        self.memory.pop(f"A{stage}", None)
        for number in (stage - 1, stage):
            self._end(number, "B")
            if self._has(number):
                # What stays begins anew: its backward has been.
                self.alive[number] = Life(number)
        self.gradient = stage - 1

    def _drop(self, position: int, stage: int) -> None:
        if not self._has(stage):
            self.broken.append((position, "not in memory", f"a^{stage}"))
        self._end(stage, "D")
        self.saved_stay &= f"A{stage}" not in self.memory
        self.memory.pop(f"a{stage}", None)
        self.memory.pop(f"A{stage}", None)

    def _runs(self, duration_ns: int, extra_bytes: int) -> None:
        self.time_ns += duration_ns
        self.peak_bytes = max(self.peak_bytes, self._stored() + extra_bytes)

    def _end(self, stage: int, how: str) -> None:
        life = self.alive.pop(stage, None)
        if life is not None:
            life.ended_by = how
            life.covered = f"A{stage + 1}" in self.memory
            self.lives.append(life)

    def _has(self, stage: int) -> bool:
        return f"a{stage}" in self.memory or f"A{stage}" in self.memory

    def _stored(self) -> int:
        return sum(self.memory.values()) + self._slope(self.gradient)

    def _slope(self, stage: int) -> int:
        """Return the size of the gradient of a stage's output."""
        if stage == 0:
            return self.chain.input_bytes
        fields = self.chain.stages[stage - 1]
        if fields.output_gradient_bytes is None:
            return fields.output_bytes
        return fields.output_gradient_bytes


def _is_allowed(life: Life) -> bool:
    """Tell whether rules 2 and 3 let a value end so."""
    match life.ended_by:
        case "F_none":
            return not life.readers
        case "D":
            return life.covered or life.readers in ([], ["F_ck"])
        case _:
            return True
