"""A second judge of units of sub-arrays, which shares no code with the replay.

It moves a clock from one completion to the next. Whenever something has ended, what may start by
the rules does. Where a feature map is follows from looking back for the last operation that moved
it. Where nothing is under way and something is left, that waits for ever: memory does not suffice.
On a link that both directions share, what is left of the copies under way is counted in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from jettison.instances.core.link import Link
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.schedule import TrainingUnit

# Kind, sub-array, position.
Item = tuple[str, int, int]
IN_MEMORY, IN_USE, ELSEWHERE = "memory", "use", "elsewhere"


@dataclass
class Task:
    """An operation of the round, by the indices of others."""

    queue: str
    run_ns: int = 0
    taken: int = 0
    returned: int = 0
    waits_for: list[int] = field(default_factory=list)
    # Memory that returns when this task and these others have ended.
    leaves: int = 0
    readers: list[int] = field(default_factory=list)
    started: bool = False
    ends_ns: int | None = None
    # Of a copy on a shared link: the bytes that are left of it.
    to_move: Fraction = Fraction(0)
    ended: bool = False
    left: bool = False


def judge_unit(problem: MultiModelTraining, unit: TrainingUnit) -> tuple[int, int] | None:
    """Return the time and the peak of a unit, or None if it breaks a rule."""
    arrays = [problem.sub_array(size) for size in unit.sizes]
    swaps = [problem.swap_ns(array) for array in arrays]
    rounds: list[list[Item]] = [
        [(str(item.action), item.array, item.position) for item in operations]
        for operations in unit.rounds
    ]
    static = sum(array.static_bytes for array in arrays)
    total_ns = peak = 0
    for number, items in enumerate(rounds):
        before: list[Item] = []
        stored = static
        if len(arrays) == 2:
            before = [item for item in rounds[1 - number] if item[1] == number and item[0] != "B"]
            stored += arrays[number].forward[-1].active_bytes
            stored += sum(
                tensor.size_bytes
                for place, tensor in enumerate(arrays[number].tensors)
                if whereabouts(arrays[number], number, place, before)[0] == IN_MEMORY
            )
        tasks = plan_round(arrays, swaps, number, items, before)
        if tasks is None or stored > problem.memory_bytes:
            return None
        ran = run_clock(tasks, stored, problem.memory_bytes, problem.link)
        if ran is None:
            return None
        total_ns += ran[0]
        peak = max(peak, ran[1], stored)
    return total_ns, peak


def whereabouts(
    array: SubArray, number: int, place: int, history: list[Item]
) -> tuple[str, int | None]:
    """Return where a feature map is after some operations, and the index of what put it there."""
    tensor = array.tensors[place]
    for index in range(len(history) - 1, -1, -1):
        kind, owner, position = history[index]
        if owner != number:
            continue
        if kind == "B":
            if position == tensor.last_backward:
                return ELSEWHERE, None
            if position == tensor.first_backward:
                return IN_USE, None
        elif kind == "F":
            if position == tensor.last_forward:
                return IN_MEMORY, index
        elif position == place:
            return (IN_MEMORY, index) if kind in "RP" else (ELSEWHERE, None)
    return ELSEWHERE, None


def plan_round(
    arrays: list[SubArray],
    swaps: list[tuple[int, ...]],
    number: int,
    items: list[Item],
    before: list[Item],
) -> list[Task] | None:
    """Return what each operation waits for, takes and gives back; None if a rule is broken."""
    forward = len(arrays) - 1 - number
    skip = len(before)
    history = list(before)
    tasks: list[Task] = []
    for kind, owner, position in items:
        if not 0 <= owner < len(arrays):
            return None
        array = arrays[owner]
        own = [(what, where) for what, who, where in history[skip:] if who == owner]
        ran_forward = [where for what, where in own if what == "F"]
        ran_backward = [where for what, where in own if what == "B"]
        made = {where for what, who, where in history if who == owner and what == "F"}
        if kind in "ROPD" and not 0 <= position < len(array.tensors):
            return None
        if kind == "F":
            if owner != forward or position != len(ran_forward) or position >= len(array.forward):
                return None
            work = array.forward[position]
            leaving = sum(
                tensor.size_bytes for tensor in array.tensors if tensor.last_forward == position
            )
            taken = work.peak_bytes - (array.forward[position - 1].active_bytes if position else 0)
            task = Task(
                "compute", work.run_ns, taken, work.peak_bytes - work.active_bytes - leaving
            )
        elif kind == "B":
            if owner != number or position != len(ran_backward) or position >= len(array.backward):
                return None
            if len(made) < len(array.forward):
                return None
            work = array.backward[position]
            previous = array.backward[position - 1] if position else array.forward[-1]
            task = Task(
                "compute",
                work.run_ns,
                work.peak_bytes - previous.active_bytes,
                work.peak_bytes - work.active_bytes,
            )
            for place, tensor in enumerate(array.tensors):
                if tensor.first_backward == position:
                    state, cause = whereabouts(array, owner, place, history)
                    if state != IN_MEMORY:
                        return None
                    task.taken -= tensor.size_bytes
                    task.waits_for += in_round(cause, skip)
        else:
            tensor = array.tensors[position]
            state, cause = whereabouts(array, owner, position, history)
            if kind == "R":
                if state != ELSEWHERE or tensor.last_forward not in made:
                    return None
                task = Task(
                    "compute",
                    tensor.recompute_ns,
                    tensor.size_bytes + tensor.recompute_bytes,
                    tensor.recompute_bytes,
                )
                for source in tensor.sources:
                    found, origin = whereabouts(array, owner, source, history)
                    if found == ELSEWHERE:
                        return None
                    task.waits_for += in_round(origin, skip)
            elif kind == "P":
                copies = [
                    index for index, item in enumerate(history) if item == ("O", owner, position)
                ]
                if state != ELSEWHERE or not copies:
                    return None
                task = Task("in", swaps[owner][position], tensor.size_bytes)
                task.waits_for += in_round(copies[-1], skip)
            else:
                if state != IN_MEMORY:
                    return None
                task = Task("out", swaps[owner][position]) if kind == "O" else Task("none")
                task.waits_for += in_round(cause, skip)
                task.leaves = tensor.size_bytes
                task.readers = [
                    index - skip
                    for index in range(max(skip, -1 if cause is None else cause), len(history))
                    if history[index][0] == "R"
                    and history[index][1] == owner
                    and position in array.tensors[history[index][2]].sources
                ]
        tasks.append(task)
        history.append((kind, owner, position))
    done = {(kind, owner): 0 for kind in "FB" for owner in range(len(arrays))}
    for kind, owner, _ in items:
        if kind in "FB":
            done[kind, owner] += 1
    if done["F", forward] != len(arrays[forward].forward):
        return None
    if done["B", number] != len(arrays[number].backward):
        return None
    for place in range(len(arrays[number].tensors)):
        if whereabouts(arrays[number], number, place, history)[0] != ELSEWHERE:
            return None
    return tasks


def in_round(index: int | None, skip: int) -> list[int]:
    """Return an operation to wait for; those of the round before have ended."""
    return [] if index is None or index < skip else [index - skip]


def run_clock(tasks: list[Task], stored: int, limit: int, link: Link) -> tuple[int, int] | None:
    """Return when all tasks have ended, and the most memory in use; None if they never do."""
    now, peak = 0, stored
    while True:
        progress = True
        while progress:
            progress = False
            for task in tasks:
                if not task.ended and task.ends_ns is not None and task.ends_ns <= now:
                    task.ended = progress = True
                    stored -= task.returned
            for task in tasks:
                if task.ended and not task.left and all(tasks[at].ended for at in task.readers):
                    task.left = progress = True
                    stored -= task.leaves
            for index, task in enumerate(tasks):
                if not progress and may_start(tasks, index, stored, limit):
                    task.started = progress = True
                    if link.is_shared and task.queue in {"in", "out"}:
                        task.to_move = Fraction(task.taken + task.leaves)
                    else:
                        task.ends_ns = now + task.run_ns
                    stored += task.taken
                    peak = max(peak, stored)
                if task.started and task.ends_ns is None and task.to_move <= 0:
                    task.ends_ns, progress = now, True
        moving = [task for task in tasks if task.started and task.ends_ns is None]
        rate = Fraction(link.bytes_per_s, 10**9)
        if len(moving) == 2:
            rate = Fraction(link.total_bytes_per_s, 2 * 10**9)
        open_ends = [task.ends_ns for task in tasks if not task.ended and task.ends_ns is not None]
        open_ends += [now + math.ceil(task.to_move / rate) for task in moving]
        if open_ends:
            for task in moving:
                task.to_move -= (min(open_ends) - now) * rate
            now = min(open_ends)
        elif all(task.ended for task in tasks):
            return now, peak
        else:
            return None


def may_start(tasks: list[Task], index: int, stored: int, limit: int) -> bool:
    """Whether an operation may start now."""
    task = tasks[index]
    if task.started or not all(tasks[at].ended for at in task.waits_for):
        return False
    for earlier in tasks[:index]:
        if earlier.queue in {"compute", "in"} and not earlier.started:
            return False
        if earlier.queue == task.queue != "none" and not earlier.ended:
            return False
    return task.taken <= 0 or stored + task.taken <= limit
