"""Resources of a replay: those that a schedule file says it was made for, or those of the options.

A file whose kind holds a claim is replayed under what it says; options may repeat that, and are
refused where they say something else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.instances.core.link import Link, parse_link
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_claim import ScheduleClaim, TransferTimes
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources

# By the name of the field, which is that of the claim as well.
_OPTIONS = {
    "models": "models",
    "devices": "devices",
    "microbatches": "microbatches",
    "weight_copies": "weight-copies",
    "chunks": "chunks",
}


def claimed_resources(
    claim: ScheduleClaim, kind: ProblemKind[Any], instance: Instance, given: Resources
) -> Resources:
    """Return the resources of a claim, in whose memory a card may stand.

    Parameters
    ----------
    claim
        The claim of the file.
    kind, instance
        The problem and the instance of the schedule.
    given
        The options, as far as they are given.

    Raises
    ------
    InputError
        If an option contradicts the claim; both values are named.
    """
    is_measured = claim.transfer_times is TransferTimes.PROFILE
    claimed = Resources(
        memory=f"{claim.memory_bytes}B",
        bandwidth=None if is_measured or claim.link is None else claim.link.text,
        models=claim.models,
        devices=claim.devices,
        microbatches=claim.microbatches,
        weight_copies=claim.weight_copies,
        chunks=claim.chunks,
    )
    for key, option in _OPTIONS.items():
        asked_for = getattr(given, key)
        if asked_for is not None:
            word = option.replace("-", " ")
            _compare(option, f"{getattr(claim, key)} {word}", f"{asked_for} {word}")
    if given.bandwidth is not None:
        own = "transfers that take no time" if claim.link is None else _rates(claim.link)
        measured = "the measured transfers of its instance"
        link = _rates(parse_link(given.bandwidth))
        _compare("bandwidth", measured if is_measured else own, link)
    if given.card is not None:
        # A question about the schedule: whether it fits on a card, for whichever limit it was made.
        return replace(claimed, memory=None, card=given.card, resident=given.resident)
    if given.says_memory:
        asked = replace(claimed, memory=given.memory, alpha=given.alpha)
        limit_bytes = pose_problem(kind.name, instance, asked).memory_bytes
        _compare("memory", f"{claim.memory_bytes} bytes", f"{limit_bytes} bytes")
    return claimed


def check_claim(claim: ScheduleClaim, replay: Replay) -> None:
    """Check that a replay has the time and the peak of the claim.

    Raises
    ------
    InputError
        If it has not; both values are named.
    """
    for field, claimed, found in (
        ("time_ns", claim.time_ns, replay.time_ns),
        ("peak_bytes", claim.peak_bytes, replay.peak_bytes),
    ):
        if claimed != found:
            raise InputError(
                f"{claimed}, and the replay has {found}",
                field=f"claim.{field}",
                expected=f"write what `jettison solve --output` wrote, or {found}",
            )


def _rates(link: Link) -> str:
    return f"{link.bytes_per_s} bytes/s each way and {link.total_bytes_per_s} both ways"


def _compare(field: str, claimed: str, given: str) -> None:
    if claimed != given:
        raise InputError(
            f"the schedule was made for {claimed}, and --{field} is {given}",
            field=field,
            expected="give the value that it was made for, or leave the option out",
        )
