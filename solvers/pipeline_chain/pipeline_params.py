"""Parameters of the search for a pipeline, and of that for interleaved chunks."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.params import Params


@dataclass(frozen=True, kw_only=True)
class PipelineParams(Params):
    """Parameters of the search for a pipeline: its grids, and what the search for cuts may take.

    Attributes
    ----------
    first_slots
        Slots of the first grid, or half, a quarter, and so on, where that were too much work; each
        further grid has twice as many.
    least_slots
        Slots of a first grid that is taken whatever the work.
    most_slots
        Slots of the finest grid.
    most_work
        Additions that a table of a grid may take, by estimate; a finer one is not begun.
    work_per_second
        The same limit for each second of a time limit. A usual machine does ten times as much, for
        all grids and what comes after them, and so that a busy one is in time as well.
    share_of_given_cuts
        Share of these limits for the grids of cuts that are given.
    least_memory_share, least_memory_precision
        Share of these limits for each table of the search for the least memory, which ends when it
        is known to one part in so many.
    most_exact_slots
        A grid of up to so many slots on which nothing is rounded is the only one.
    most_entries
        Limit on the entries of rotor's table of a grid, of 8 bytes each.
    most_labels
        Labels of one state of the bound before labels are merged.
    most_cuts
        Cuts that the search looks at in a round before it gives up to close the gap.
    chunk_slots, chunk_bound_slots, most_chunk_entries
        Slots of the tables of interleaved chunks, for plans and for the bound, and limit on the
        entries of the parts that end with a stage, of 8 bytes each.
    chunk_lengths
        Chunks of plans have up to so many times the stages of an average one.
    chunk_rounds, chunk_start_rounds
        Rounds of subgradients of the bound on interleaved steps, and of those for cuts alone.
    chunk_starts, chunk_climbs
        Cuts of the bound that a search for chunks looks at, and those it climbs from.
    chunk_timelines
        Cuts whose timeline a climb looks at.
    chunk_seconds
        A time limit below this has its share of the rounds, timelines and slots for chunks.
    """

    first_slots: int = 100
    least_slots: int = 12
    most_slots: int = 25600
    most_work: float = 3e9
    work_per_second: float = 1.5e8
    share_of_given_cuts: float = 0.03
    least_memory_share: float = 0.05
    least_memory_precision: int = 200
    most_exact_slots: int = 300
    most_entries: int = 2**28
    most_labels: int = 2048
    most_cuts: int = 300
    chunk_slots: int = 320
    chunk_bound_slots: int = 320
    most_chunk_entries: int = 2**24
    chunk_lengths: int = 2
    chunk_rounds: int = 300
    chunk_start_rounds: int = 60
    chunk_starts: int = 12
    chunk_climbs: int = 3
    chunk_timelines: int = 200
    chunk_seconds: float = 60.0


PIPELINE = PipelineParams()
