"""The schedule: which values stay in memory; each of the others is computed a second time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.schedules.core.replay import Replay, Rule, Step, Violation
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.schedule_kind import ScheduleKind
from toy_column.shelf import Shelf


@dataclass(frozen=True)
class Keeping:
    kind = "toy-keeping"

    kept: tuple[int, ...]

    def replay(self, shelf: Shelf, memory_bytes: int) -> Replay:
        steps: list[Step] = []
        used = clock_ns = 0
        for repeated in (False, True):
            for number, (size, time_ns) in enumerate(shelf.values):
                if repeated and number in self.kept:
                    continue
                # A value that does not stay streams through and takes no memory.
                used += size if number in self.kept else 0
                end_ns = clock_ns + time_ns
                steps.append(Step(f"compute v{number}", clock_ns, end_ns, used, used, repeated))
                clock_ns = end_ns
        over = used - memory_bytes
        broken = Violation(
            rule=Rule.OUT_OF_MEMORY, position=None, operation="end", tensor="all", bytes_over=over
        )
        return Replay(
            steps=tuple(steps),
            peak_bytes=used,
            limit_bytes=memory_bytes,
            violations=(broken,) if over > 0 else (),
            schedule_class=ScheduleClass.ALL,
        )


def _write(keeping: Keeping, _: Shelf) -> dict[str, object]:
    return {"kept": list(keeping.kept)}


def _read(document: Mapping[str, Any], _: Shelf) -> Keeping:
    return Keeping(tuple(document["kept"]))


KEEPING = ScheduleKind(
    name=Keeping.kind,
    schedule=Keeping,
    instance=Shelf.kind,
    write=_write,
    read=_read,
    schema_package="toy_column",
)
