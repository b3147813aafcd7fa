"""Kind of schedule: reader and writer of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jettison.instances.core.registry import Registry
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_claim import ScheduleClaim

S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True, kw_only=True)
class ScheduleKind(Generic[S]):
    """Kind of schedule, as it is registered: its file format.

    Attributes
    ----------
    name
        The ``kind`` of the files, and of the schedules.
    schedule
        The type of the schedules.
    instance
        The kind of the instances that they are for.
    write
        Returns what a file holds of a schedule, beside the header and the hash of the instance.
    read
        Returns the schedule of a document that its schema allows, for an instance.
    claim
        Returns the claim that files hold beside a schedule, of its problem and its replay; None
        for kinds whose files hold no claim.
    noun
        Name of the kind for people.
    schema_package
        The package whose folder ``schemas`` has ``NAME.schema.json``.
    """

    name: str
    schedule: type[S]
    instance: str
    write: Callable[[S, Any], Mapping[str, object]]
    read: Callable[[Mapping[str, Any], Any], S]
    claim: Callable[[Any, Replay], ScheduleClaim] | None = None
    noun: str = "schedule"
    schema_package: str = "jettison.schedules"


SCHEDULE_KINDS: Registry[ScheduleKind[Any]] = Registry("jettison.schedules", ScheduleKind)
