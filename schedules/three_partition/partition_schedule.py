r"""Translation between 3-partitions and weight offloading schedules (Theorem 1 of the paper).

Let an instance of 3-PARTITION have :math:`m` groups of sum :math:`V`; its weight offloading problem
is that of `instances.three_partition.offload_chain`, whose unit of time is :math:`V` ns.

From a partition to a schedule
------------------------------
Let :math:`S_1, \dots, S_m` be the groups, as layers :math:`2m + i`. When the period begins, the
layers beyond :math:`2m` are in memory, :math:`mV` bytes, and the others, which have :math:`V` bytes
each where they have any, are on the host. Unit :math:`k` of the first half is
:math:`B_{2(m-k+1)}`. In it :math:`w_{2(m-k)+1}` is prefetched and :math:`S_k` is uploaded; at its
end :math:`S_k` is deleted, and :math:`B_{2(m-k)+1}` finds :math:`V` bytes for its gradient. The
second half is :math:`F_{2m}`. In its unit :math:`k`, :math:`w_{2k-1}` is uploaded and :math:`S_k`
prefetched. The memory in use is :math:`M = (m + 1) V` from beginning to end, and each direction of
the link is always busy.

From a schedule to a partition
------------------------------
Let a valid schedule have period :math:`2m`. All operations together take that long, so there is no
idle time, and operations that take no time stand between two others.

* From :math:`F_{2m+1}` to :math:`B_{2m+1}` no time passes and nothing can arrive: the layers beyond
  :math:`2m` are all in memory at the last backward, with a gradient of :math:`x_i > 0` bytes. Of
  :math:`M` there remain less than :math:`V`, so that no :math:`w_{2k-1}` is in memory, or on its
  way.
* They all come back in the first half, which ends with :math:`B_1, F_1, \dots, F_{2m-1}`: the link
  has just the time for their :math:`mV` bytes. So none of them leaves again in the first half, and
  no other layer arrives.
* At :math:`B_{2(m-k)+1}`, :math:`k` of them and one gradient are in memory, :math:`(k + 1) V`
  bytes. So layers beyond :math:`2m` with at least :math:`kV` bytes are deleted by then. Their
  backward has changed them in this period; each was uploaded in it, and the link had time for
  :math:`kV` bytes at most. So they are exactly the layers uploaded in the first :math:`k` units.
  This holds for every :math:`k`: in each :math:`B_{2k}`, layers of :math:`V` bytes are uploaded,
  from its start to its end. Since :math:`V/4 < x_i < V/2`, they are three. :math:`\square`
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.three_partition.certificate import check_partition
from jettison.instances.three_partition.instance import Partition, ThreePartition
from jettison.instances.three_partition.offload_chain import shortest_period_ns, weight_offload_of
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule


def schedule_of_partition(instance: ThreePartition, partition: Partition) -> CyclicSchedule:
    """Return a schedule of period 2m units, valid in exactly the memory of the problem.

    Linear time.

    Raises
    ------
    InputError
        If the groups are no 3-partition of the items.
    """
    check_partition(partition, instance.values, instance.target)
    m, unit_ns = instance.groups, instance.target
    groups = [[2 * m + 1 + item for item in group] for group in partition]
    events: list[CyclicEvent] = []

    def add(kind: CyclicEventKind, layer: int, start_ns: int) -> None:
        events.append(CyclicEvent(kind, layer, start_ns))

    def add_transfers(kind: CyclicEventKind, layers: list[int], start_ns: int) -> None:
        for layer in layers:
            add(kind, layer, start_ns)
            start_ns += instance.values[layer - 2 * m - 1]

    for layer in range(5 * m, 2 * m, -1):
        add(CyclicEventKind.BACKWARD, layer, 0)
    for unit, group in enumerate(groups):
        layer = 2 * (m - unit)
        start_ns = unit * unit_ns
        add(CyclicEventKind.BACKWARD, layer, start_ns)
        add(CyclicEventKind.PREFETCH, layer - 1, start_ns)
        add_transfers(CyclicEventKind.UPLOAD, group, start_ns)
        for member in group:
            add(CyclicEventKind.DELETE, member, start_ns + unit_ns)
        add(CyclicEventKind.BACKWARD, layer - 1, start_ns + unit_ns)
    for layer in range(1, 2 * m + 1):
        add(CyclicEventKind.FORWARD, layer, m * unit_ns)
    for unit, group in enumerate(groups):
        layer = 2 * unit + 1
        start_ns = (m + unit) * unit_ns
        add(CyclicEventKind.UPLOAD, layer, start_ns)
        add_transfers(CyclicEventKind.PREFETCH, group, start_ns)
        add(CyclicEventKind.DELETE, layer, start_ns + unit_ns)
    for layer in range(2 * m + 1, 5 * m + 1):
        add(CyclicEventKind.FORWARD, layer, 2 * m * unit_ns)
    return CyclicSchedule(shortest_period_ns(instance), tuple(events))


def partition_of_schedule(instance: ThreePartition, schedule: CyclicSchedule) -> Partition:
    """Return the 3-partition that a schedule of period 2m units contains.

    The groups are the layers uploaded in each of the m backward operations that take time.

    Raises
    ------
    InputError
        If the period is another, or the replay finds a broken rule: the message names the first.
    """
    period_ns = shortest_period_ns(instance)
    if schedule.period_ns != period_ns:
        raise InputError(
            f"{schedule.period_ns} ns",
            field="period_ns",
            expected=f"give a schedule of {period_ns} ns: only that contains a 3-partition",
        )
    problem = weight_offload_of(instance)
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
    if replay.violations:
        raise InputError(
            f"the schedule is not valid: {replay.violations[0]}",
            field="events",
            expected="give a valid schedule: only that contains a 3-partition",
        )
    m = instance.groups
    found: list[list[int]] = [[] for _ in range(m)]
    for event in schedule.events:
        if event.kind is CyclicEventKind.UPLOAD and event.layer > 2 * m:
            found[event.start_ns // instance.target].append(event.layer - 2 * m - 1)
    check_partition(found, instance.values, instance.target)
    return tuple(sorted((first, second, third) for first, second, third in map(sorted, found)))
