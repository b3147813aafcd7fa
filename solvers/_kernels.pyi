from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

IDLE_LINK: int
MOST_CYCLE_OPERATIONS: int
MOST_OFFLOADED_LAYERS: int
MOST_STAGES: int
NO_LAYER: int
NO_PHASES_NS: int

def vector_units() -> list[str]: ...
def vector_unit() -> str: ...
def choose_vector_unit(name: str) -> None: ...
def persistent_program(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    budgets: Sequence[int],
    time_limit_s: float | None = None,
    threads: int = 1,
) -> list[tuple[int, list[tuple[int, int]]] | None]: ...
def persistent_times(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    budgets: Sequence[int],
    time_limit_s: float | None = None,
    threads: int = 1,
) -> list[int | None]: ...
def least_memory(
    input_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_all_need: NDArray[np.int64],
    forward_none_need: NDArray[np.int64],
) -> tuple[int, list[tuple[int, int]]]: ...
def fastest_schedule(
    forward_ns: NDArray[np.int64],
    held_bytes: NDArray[np.int64],
    gradient_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    saving_bytes: NDArray[np.int64],
    forward_bytes: NDArray[np.int64],
    backward_bytes: NDArray[np.int64],
    memory_bytes: int,
    below_ns: int | None,
    most_states: int,
    time_limit_s: float | None = None,
) -> tuple[int, int | None, list[tuple[int, int]], int, str]: ...
def smallest_schedule(
    held_bytes: NDArray[np.int64],
    gradient_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    saving_bytes: NDArray[np.int64],
    forward_bytes: NDArray[np.int64],
    backward_bytes: NDArray[np.int64],
    below_bytes: int,
    most_states: int,
    time_limit_s: float | None = None,
) -> tuple[int, int | None, list[tuple[int, int]], int, str]: ...
def cut_allows_fluid(
    device_bytes: int,
    delay_ns: int,
    plain_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_ns: NDArray[np.int64],
    later_ns: NDArray[np.int64],
    held_bytes: NDArray[np.int64],
    input_bytes: NDArray[np.int64],
    most_states: int,
    time_limit_s: float | None = None,
) -> bool: ...
def cut_allows_at_once(
    device_bytes: int,
    delay_ns: int,
    plain_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_ns: NDArray[np.int64],
    later_ns: NDArray[np.int64],
    slack_ns: int,
    saved_ns: NDArray[np.int64],
    plain_ns: NDArray[np.int64],
    late_ns: NDArray[np.int64],
    early_ns: NDArray[np.int64],
    path_ns: NDArray[np.int64],
    most_states: int,
    time_limit_s: float | None = None,
) -> bool: ...

class Accuracy(Enum):
    LOWER = ...
    UPPER = ...
    EXACT = ...

class PofoProgram:
    def __init__(
        self,
        forward: NDArray[np.int64],
        backward: NDArray[np.int64],
        output: NDArray[np.int64],
        gradient: NDArray[np.int64],
        saved: NDArray[np.int64],
        saving_overhead: NDArray[np.int64],
        forward_overhead: NDArray[np.int64],
        backward_need: NDArray[np.int64],
        memory: int,
        recomputes: bool,
        most_bytes: int,
    ) -> None: ...
    def refine(
        self,
        slot: int,
        backward_slot: int,
        both_programs: bool,
        limit: int | None,
        time_limit_s: float | None = None,
    ) -> int | None: ...
    def search(
        self,
        accuracy: Accuracy,
        most_labels: int,
        limit: int | None,
        time_limit_s: float | None = None,
    ) -> tuple[
        int | None, int | None, list[tuple[int, int]], list[tuple[int, bool]], bool, int, int
    ]: ...

def prove_pofo(
    forward: NDArray[np.int64],
    backward: NDArray[np.int64],
    output: NDArray[np.int64],
    gradient: NDArray[np.int64],
    saved: NDArray[np.int64],
    saving_overhead: NDArray[np.int64],
    forward_overhead: NDArray[np.int64],
    backward_need: NDArray[np.int64],
    memory: int,
    slot: int,
    goal: int,
    link_counts: bool,
    most_points: int,
    most_bytes: int,
    time_limit_s: float | None = None,
) -> tuple[bytes, int, bool, int, int]: ...
def least_memory_with_drops(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_all_need: NDArray[np.int64],
    forward_none_need: NDArray[np.int64],
) -> tuple[int, list[tuple[int, int]]]: ...
def program_with_drops(
    tables: int,
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    budgets: list[int],
    time_limit_s: float | None = None,
    threads: int = 1,
) -> list[tuple[int, list[tuple[int, int]]] | None]: ...
def times_with_drops(
    tables: int,
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    budgets: list[int],
    time_limit_s: float | None = None,
    threads: int = 1,
) -> list[int | None]: ...

class ChainCuts:
    def __init__(
        self,
        available_bytes: NDArray[np.int64],
        forward_ns: NDArray[np.int64],
        output_bytes: NDArray[np.int64],
        saved_bytes: NDArray[np.int64],
        most_steps: int,
    ) -> None: ...
    def rerun_ns(
        self, stage: int, below_ns: Sequence[int], time_limit_s: float | None = None
    ) -> int | None: ...

class PersistentSearch:
    def __init__(
        self,
        forward_ns: NDArray[np.int64],
        backward_ns: NDArray[np.int64],
        input_bytes: NDArray[np.int64],
        saved_bytes: NDArray[np.int64],
        forward_all_need: NDArray[np.int64],
        forward_none_need: NDArray[np.int64],
        available_bytes: int,
        known_time_ns: int,
        first_slots: int,
        most_slots: int,
        most_bytes: int,
    ) -> None: ...
    def refine(self, time_limit_s: float | None = None) -> None: ...
    @property
    def lower_bound_ns(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def sequence(self) -> list[tuple[int, int]]: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def slots(self) -> int: ...
    @property
    def states(self) -> int: ...

def select_weights(
    excess_bytes: NDArray[np.int64],
    weight_bytes: NDArray[np.int64],
    time_limit_s: float | None = None,
) -> list[tuple[int, int]] | None: ...

class WeightScheduler:
    def __init__(
        self,
        duration_ns: NDArray[np.int64],
        working_bytes: NDArray[np.int64],
        resting_bytes: NDArray[np.int64],
        weight_bytes: NDArray[np.int64],
        transfer_ns: NDArray[np.int64],
        memory_bytes: int,
    ) -> None: ...
    def best_cut(
        self,
        absences: NDArray[np.uint8],
        has_discount: bool,
        time_limit_s: float | None = None,
    ) -> tuple[int, int] | None: ...
    def schedule(
        self, absences: NDArray[np.uint8], has_discount: bool, cut: int
    ) -> tuple[int, list[tuple[int, int, int]]] | None: ...

def weight_cycle_beginnings(
    layer: NDArray[np.int32],
    backward: NDArray[np.int32],
    duration_ns: NDArray[np.int64],
    working_bytes: NDArray[np.int64],
    resting_bytes: NDArray[np.int64],
    weight_bytes: NDArray[np.int64],
    transfer_ns: NDArray[np.int64],
    memory_bytes: int,
    bytes_per_s: int,
    period_ns: int,
    most: int,
    time_limit_s: float | None = None,
) -> tuple[bool, list[tuple[int, int, int, int, int]], int]: ...
def sweep_weight_cycle(
    layer: NDArray[np.int32],
    backward: NDArray[np.int32],
    duration_ns: NDArray[np.int64],
    working_bytes: NDArray[np.int64],
    resting_bytes: NDArray[np.int64],
    weight_bytes: NDArray[np.int64],
    transfer_ns: NDArray[np.int64],
    memory_bytes: int,
    bytes_per_s: int,
    beginnings: NDArray[np.int64],
    period_ns: int,
    most_labels: int,
    most_alike: int,
    time_limit_s: float | None = None,
) -> tuple[
    bool,
    int | None,
    list[tuple[int, int, int]],
    list[tuple[int, int, int]],
    int,
    int,
]: ...

class JointAnneal:
    def __init__(
        self,
        choice: NDArray[np.int32],
        places: NDArray[np.int32],
        cost_ns: NDArray[np.int64],
        size_bytes: NDArray[np.int64],
        table_ends: NDArray[np.int32],
        table: NDArray[np.int64],
        keep: NDArray[np.uint8],
        computed_once: NDArray[np.uint8],
        input_start: NDArray[np.int32],
        inputs: NDArray[np.int32],
        start: NDArray[np.int32],
        memory_bytes: int,
        floor_ns: int,
        rounds: int,
        seed: int,
    ) -> None: ...
    # Places that are allowed together, and a staged schedule: ValueError if not.
    def start_from(self, places: NDArray[np.int32], computations: NDArray[np.int32]) -> None: ...
    def run(self, moves: int, time_limit_s: float | None = None) -> None: ...
    def set_floor_ns(self, floor_ns: int) -> None: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def time_ns(self) -> int | None: ...
    @property
    def places(self) -> list[int]: ...
    @property
    def computations(self) -> list[int]: ...
    @property
    def rounds_ended(self) -> int: ...
    @property
    def tried(self) -> int: ...

class LinkedMoments:
    def __init__(
        self,
        duration_ns: NDArray[np.int64],
        output_bytes: NDArray[np.int64],
        workspace_bytes: NDArray[np.int64],
        copy_ns: NDArray[np.int64],
        movable: NDArray[np.uint8],
        keep: NDArray[np.uint8],
        again: NDArray[np.uint8],
        token: NDArray[np.uint8],
        input_start: NDArray[np.int32],
        inputs: NDArray[np.int32],
        memory_bytes: int,
    ) -> None: ...
    def run(self, most_states: int, upper_ns: int, time_limit_s: float | None = None) -> None: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def time_ns(self) -> int | None: ...
    @property
    def bound_ns(self) -> int: ...
    @property
    def states(self) -> int: ...
    # What is freed before, as bits; 0 to wait, 1 compute, 2 offload, 3 prefetch; the node.
    @property
    def steps(self) -> list[tuple[int, int, int]]: ...

class RematAnneal:
    def __init__(
        self,
        duration_ns: NDArray[np.int64],
        output_bytes: NDArray[np.int64],
        workspace_bytes: NDArray[np.int64],
        keep: NDArray[np.uint8],
        again: NDArray[np.uint8],
        run_of: NDArray[np.int32],
        input_start: NDArray[np.int32],
        inputs: NDArray[np.int32],
        memory_bytes: int,
        floor_ns: int,
        rounds: int,
        seed: int,
    ) -> None: ...
    floor_ns: int
    # Staged: ValueError if not. The rounds begin anew from it.
    def start_from(self, computations: NDArray[np.int32]) -> None: ...
    def run(self, moves: int, time_limit_s: float | None = None) -> None: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def time_ns(self) -> int | None: ...
    @property
    def computations(self) -> list[int]: ...
    # Of all, or since the last start that was given.
    @property
    def rounds_ended(self) -> int: ...
    @property
    def tried(self) -> int: ...

class RematPeak:
    def __init__(
        self,
        duration_ns: NDArray[np.int64],
        output_bytes: NDArray[np.int64],
        workspace_bytes: NDArray[np.int64],
        keep: NDArray[np.uint8],
        again: NDArray[np.uint8],
        run_of: NDArray[np.int32],
        input_start: NDArray[np.int32],
        inputs: NDArray[np.int32],
        stop_at_bytes: int,
        seed: int,
    ) -> None: ...
    def run(self, moves: int, time_limit_s: float | None = None) -> None: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def peak_bytes(self) -> int: ...
    @property
    def computations(self) -> list[int]: ...
    @property
    def tried(self) -> int: ...

class PlanSearch:
    period_ns: int
    tried: int
    tried_in_vain: int
    def __init__(
        self,
        scheduler: WeightScheduler,
        absences: NDArray[np.uint8],
        cut: int,
        floor_ns: int,
        seed: int,
    ) -> None: ...
    def run(self, changes: int, time_limit_s: float | None = None) -> None: ...
    def schedule(self) -> tuple[int, list[tuple[int, int, int]]] | None: ...

class MessageBound:
    def __init__(
        self,
        places: NDArray[np.int32],
        kinds: NDArray[np.int32],
        cost: NDArray[np.int64],
        term_node: NDArray[np.int32],
        term_bytes: NDArray[np.int64],
        spans: NDArray[np.int32],
        mask_kinds: NDArray[np.int32],
        mask_bytes: NDArray[np.uint8],
        capacity: NDArray[np.int64],
        edges: NDArray[np.int32],
        classes: NDArray[np.int32],
        times: NDArray[np.int64],
        ok: NDArray[np.uint8],
        table: NDArray[np.int64],
        first_passes: int,
        patience: int,
        shrink: float,
        step_after_removals: float,
        least_step: float,
        aim: float,
        sweeps: int,
    ) -> None: ...
    def propagate(self) -> bool: ...
    def ascend(
        self, upper: float | None = None, passes: int = 100, time_limit_s: float | None = None
    ) -> tuple[float, int]: ...
    def prove(self, upper: int | None = None) -> tuple[int, int, bool]: ...
    def round(self, factor: float = 1.0) -> tuple[list[int], list[int], int, int]: ...
    def round_at_best(self, factor: float = 1.0) -> tuple[list[int], list[int], int, int]: ...
    def judge(
        self, place: NDArray[np.int32], kind: NDArray[np.int32]
    ) -> tuple[list[int], list[int], int, int]: ...
    def states(self) -> list[tuple[list[int], list[int]]]: ...
    def num_states(self) -> int: ...
    def multipliers(self) -> list[float]: ...

_Limits = tuple[float, float]

class ShardingMessages: ...

class _ShardingGraph:
    def __init__(
        self,
        sizes: NDArray[np.int32],
        costs: NDArray[np.int64],
        usages: NDArray[np.int64],
        rows: NDArray[np.int32],
        row_count: int,
        capacity: int,
        ends: NDArray[np.int32],
        tables: NDArray[np.int64],
    ) -> None: ...
    def copy(self) -> _ShardingGraph: ...
    def reduce(
        self, name: str, limits: _Limits, most_more_pairs: int
    ) -> tuple[bool, float, tuple[int, int] | None]: ...
    def size(self) -> tuple[int, int, int, int, int]: ...
    def offset(self) -> int: ...
    def capacity(self) -> list[int]: ...
    def is_consistent(self) -> bool: ...
    def rows(self) -> list[int]: ...
    def alive(self) -> list[int]: ...
    def node(
        self, number: int
    ) -> tuple[list[int], list[int | None], list[tuple[int, int, list[int]]]]: ...
    def edges(self) -> list[tuple[int, int, list[int | None]]]: ...
    def decode(self, chosen: Sequence[int]) -> list[int]: ...
    def encode(self, strategies: Sequence[int]) -> list[int]: ...

class ShardingGraph64(_ShardingGraph): ...
class ShardingGraph128(_ShardingGraph): ...

class _ShardingBound:
    def __init__(
        self,
        graph: _ShardingGraph,
        first_passes: int,
        patience: int,
        shrink: float,
        first_step: float,
        least_step: float,
        target_beyond: float,
        momentum: float,
    ) -> None: ...
    def ascend(self, upper: float, passes: int, limits: _Limits) -> tuple[int, float]: ...
    def value(self) -> float: ...
    def kept(self) -> ShardingMessages: ...
    def resume(self, kept: ShardingMessages) -> None: ...
    def rounded(self) -> list[int]: ...
    def multipliers(self) -> list[float]: ...
    def adopt(self, multipliers: Sequence[float], messages: Sequence[float]) -> None: ...
    def prove(self) -> tuple[int, int]: ...
    def tighten(self, graph: _ShardingGraph, below: int) -> bool: ...

class ShardingBound64(_ShardingBound): ...
class ShardingBound128(_ShardingBound): ...

class _ShardingSearch:
    def __init__(
        self,
        graph: _ShardingGraph,
        seed: int,
        repair_sweeps: int,
        weight_growth: float,
        over_growth: float,
        round_sweeps: int,
        round_growth: float,
        first_temperature: float,
        last_temperature: float,
        tree_nodes: int,
    ) -> None: ...
    def set_prices(self, prices: Sequence[float]) -> None: ...
    def begin_greedy(self, limits: _Limits) -> float: ...
    def begin_from(self, chosen: Sequence[int]) -> None: ...
    def repair(self, limits: _Limits) -> tuple[bool, float]: ...
    def anneal(self, limits: _Limits) -> float: ...
    def best(self) -> list[int]: ...
    def best_cost(self) -> float: ...
    def has_best(self) -> bool: ...
    def chosen(self) -> list[int]: ...
    def sweeps_without_gain(self) -> int: ...

class ShardingSearch64(_ShardingSearch): ...
class ShardingSearch128(_ShardingSearch): ...
class TrainingStepPlan: ...

class TrainingSteps:
    def __init__(
        self,
        times: NDArray[np.int64],
        sizes: NDArray[np.int64],
        transfers: NDArray[np.int64],
        others: NDArray[np.int64],
        input_bytes: int,
        memory_bytes: int,
    ) -> None: ...
    def plan(
        self,
        order: Sequence[tuple[int, int]],
        choices: Sequence[tuple[int, bool, bool, bool, bool, bool]],
        weights_ahead: int,
        activations_ahead: int,
        sends_by_need: bool,
        updates_by_need: bool,
        fetches_what_is_there: bool,
    ) -> TrainingStepPlan: ...
    def plan_of_codes(
        self,
        codes: bytes,
        weights_ahead: int,
        activations_ahead: int,
        sends_by_need: bool,
        updates_by_need: bool,
        fetches_what_is_there: bool,
    ) -> TrainingStepPlan: ...
    def period_ns(self, plan: TrainingStepPlan, most_ns: int = ...) -> int: ...
    def events(self, plan: TrainingStepPlan) -> list[tuple[int, int, int, int]]: ...

def training_period_search(
    steps: TrainingSteps,
    updated_by_host: int,
    longest_ns: int,
    most_states: int,
    time_limit_s: float | None,
) -> tuple[int, int, int, list[tuple[int, int, int, int]], int] | None: ...

class PhaseTable:
    def __init__(
        self,
        forward_ns: NDArray[np.int64],
        backward_ns: NDArray[np.int64],
        input_slots: NDArray[np.int32],
        saved_slots: NDArray[np.int32],
        forward_all_need: NDArray[np.int32],
        forward_none_need: NDArray[np.int32],
        saving_need: NDArray[np.int32],
        passing_need: NDArray[np.int32],
        in_flight: NDArray[np.int32],
        room: NDArray[np.int32],
        most_entries: int,
        time_limit_s: float | None = None,
    ) -> None: ...
    @property
    def times_ns(self) -> list[int]: ...
    def sequence(
        self, device: int, first: int, last: int
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]: ...
    def sequence_within(
        self, first: int, last: int, left: int, memory: int
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]: ...
    def within(self, first: int, last: int, out: NDArray[np.int64]) -> None: ...

def pipeline_step_bound(
    busy_ns: NDArray[np.int64],
    forward_ns: NDArray[np.int64],
    microbatches: int,
    limit_ns: int,
    most_labels: int,
    time_limit_s: float | None = None,
) -> tuple[int, list[int], int]: ...
