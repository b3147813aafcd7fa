"""The picture of a comparison shows the times of the results and what the bounds rule out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    FETCHED,
    FORWARD,
    IN_MEMORY,
    LIMIT,
    SENT,
    UPDATE,
    WAITING,
)
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.outcome import Infeasibility, Outcome
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.solvers.core.result import Result
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import (
    periodic_schedule,
    recompute_all_schedule,
    store_all_schedule,
)
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.studies.comparison.method_style import method_styles, shared_lines
from jettison.studies.comparison.plot import BoundStep, bound_steps, plot_compare
from jettison.studies.comparison.run import compared_runs
from tests.tiny import EQUAL_LAYERS, LADDER, UNEVEN, UNIFORM

# UNIFORM: six layers of 2 + 3 ns and a loss of 1 + 1 ns; saving everything takes 15 bytes.
BASE_NS = 32
ALL, PERSISTENT, STAGED = ScheduleClass.ALL, ScheduleClass.PERSISTENT, ScheduleClass.STAGED


def result(
    memory_bytes: int,
    method: str,
    schedule: Schedule | None = None,
    bounds: Sequence[tuple[int, ScheduleClass]] = (),
    refuted: Infeasibility | None = None,
    chain: Chain = UNIFORM,
) -> Result:
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=schedule,
        bounds=tuple(
            Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.EXACT, method=method)
            for time_ns, valid_for in bounds
        ),
        infeasibility=refuted,
    )
    problem: Problem = RematChain(chain, memory_bytes)
    return Result.from_outcome(problem, method, outcome, 0.0)


def refutation(valid_for: ScheduleClass, least_memory_bytes: int) -> Infeasibility:
    return Infeasibility(valid_for=valid_for, least_memory_bytes=least_memory_bytes, is_exact=True)


def line(axes: Axes, label: str) -> Line2D:
    (found,) = [item for item in axes.lines if item.get_label() == label]
    return found


def edge(axes: Axes, valid_for: ScheduleClass) -> StepPatch:
    (found,) = [
        patch
        for patch in axes.patches
        if str(patch.get_label()).startswith(f"lower bound, {valid_for}")
    ]
    assert isinstance(found, StepPatch)
    return found


def legend_texts(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [item.get_text() for item in legend.get_texts()]


STORE_ALL = store_all_schedule(UNIFORM)
# Recomputes three layers of 2 ns: 38 ns.
TWO_SEGMENTS = periodic_schedule(UNIFORM, 2)


def test_a_method_is_a_line_through_its_times_by_memory() -> None:
    results = [
        result(20, "periodic", STORE_ALL),
        result(14, "periodic", TWO_SEGMENTS),
        result(20, "other", TWO_SEGMENTS),
    ]
    axes = plot_compare(results).axes[0]
    periodic = line(axes, "periodic")
    assert list(periodic.get_xdata()) == [14, 20]
    # 6 ns more than 32 ns is 18.75 % more.
    assert list(periodic.get_ydata()) == [18.75, 0]
    assert list(line(axes, "other").get_ydata()) == [18.75]


def test_between_two_memories_a_method_keeps_the_schedule_of_the_smaller() -> None:
    results = [result(14, "periodic", TWO_SEGMENTS), result(20, "periodic", STORE_ALL)]
    axes = plot_compare(results).axes[0]
    assert line(axes, "periodic").get_drawstyle() == "steps-post"


def test_a_method_without_a_schedule_has_no_point() -> None:
    results = [
        result(14, "store-all"),
        result(15, "store-all", STORE_ALL),
        result(14, "nothing"),
    ]
    axes = plot_compare(results).axes[0]
    assert list(line(axes, "store-all").get_xdata()) == [15]
    assert "nothing" not in legend_texts(axes)


def test_methods_differ_in_colour_and_marker() -> None:
    results = [result(20, f"method {k}", STORE_ALL) for k in range(7)]
    axes = plot_compare(results).axes[0]
    lines = [line(axes, f"method {k}") for k in range(7)]
    assert len({item.get_color() for item in lines}) == 7
    assert len({item.get_marker() for item in lines}) == 7


def test_every_method_of_every_problem_has_a_colour_of_its_own_in_all_pictures() -> None:
    styles = method_styles()
    names = {method.name for kind in PROBLEM_KINDS for method in kind.methods()}
    assert names <= styles.keys()
    assert len({style.colour for style in styles.values()}) == len(styles)
    # Those of operations, transfers and memory have their own meanings.
    meanings = {FORWARD, BACKWARD, AGAIN, SENT, FETCHED, UPDATE, WAITING, IN_MEMORY, LIMIT}
    assert not meanings & {style.colour for style in styles.values()}
    assert method_styles(["mine"])["rotor"] == styles["rotor"]


def test_the_dashes_of_lines_on_each_other_take_turns_and_a_line_alone_is_solid() -> None:
    both = [(14.0, 3.0), (20.0, 0.0)]
    drawn = shared_lines({"a": both, "b": both, "c": both[1:], "alone": [(14.0, 9.0)]})
    assert drawn["alone"].dashes == (0.0, ())
    # Three lines: 6 points of each in turn, of 18.
    assert [drawn[name].dashes for name in "abc"] == [
        (0.0, (6.0, 12.0)),
        (12.0, (6.0, 12.0)),
        (6.0, (6.0, 12.0)),
    ]
    sizes = [drawn[name].marker_size for name in "abc"]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_the_base_time_is_a_labelled_line_at_no_overhead() -> None:
    axes = plot_compare([result(20, "store-all", STORE_ALL)]).axes[0]
    assert list(line(axes, "base time 32 ns").get_ydata()) == [0, 0]


def test_the_axis_on_the_right_is_the_same_height_in_time() -> None:
    results = [result(14, "periodic", TWO_SEGMENTS), result(20, "periodic", STORE_ALL)]
    left, right = plot_compare(results).axes
    low, high = left.get_ylim()
    assert right.get_ylim() == pytest.approx(
        (BASE_NS * (1 + low / 100), BASE_NS * (1 + high / 100))
    )
    assert right.get_ylabel() == "time (ns)"


def test_large_overheads_make_the_axis_logarithmic_and_the_times_follow() -> None:
    # Ten layers of 9 + 1 ns: restarting for each backward takes far more than 2.5 times as long.
    layers = tuple(
        Stage(name=f"layer{k}", forward_ns=9, backward_ns=1, output_bytes=1, saved_bytes=1)
        for k in range(9)
    )
    loss = Stage(name="loss", forward_ns=9, backward_ns=1, output_bytes=0, saved_bytes=0)
    chain = Chain("slow", 1, (*layers, loss))
    figure = plot_compare([result(50, "lazy", recompute_all_schedule(chain), chain=chain)])
    figure.draw_without_rendering()
    left, right = figure.axes
    # The forward of stage k runs 11 - k times: 55 x 9 + 10 x 1 = 505 ns, base 100 ns.
    assert list(line(left, "lazy").get_ydata()) == [405]
    assert left.get_yscale() == right.get_yscale() == "symlog"
    assert left.get_ylim() == right.get_ylim()
    overheads = [float(label.get_text()) for label in left.get_yticklabels()]
    times = [float(label.get_text()) for label in right.get_yticklabels()]
    assert times == [100 + overhead for overhead in overheads]
    assert max(overheads) >= 200


def test_a_bound_holds_for_smaller_memories_too() -> None:
    results = [
        result(12, "weak", bounds=[(33, ALL)]),
        result(14, "strong", bounds=[(36, ALL), (37, PERSISTENT)]),
        result(20, "rotor", bounds=[(32, PERSISTENT)]),
    ]
    assert bound_steps(compared_runs(results), ALL) == [
        BoundStep(12, 36),
        BoundStep(14, 36),
        BoundStep(20, BASE_NS),
    ]
    assert bound_steps(compared_runs(results), PERSISTENT) == [
        BoundStep(12, 37),
        BoundStep(14, 37),
        BoundStep(20, BASE_NS),
    ]


def test_below_a_refuted_memory_nothing_exists() -> None:
    results = [
        result(5, "rotor", refuted=refutation(ALL, 9)),
        result(20, "rotor", bounds=[(33, PERSISTENT)]),
    ]
    # Nine bytes are the least for persistent schedules; for others only five are refuted.
    assert bound_steps(compared_runs(results), PERSISTENT) == [
        BoundStep(5, None),
        BoundStep(8, None),
        BoundStep(20, 33),
    ]
    assert bound_steps(compared_runs(results), ALL) == [BoundStep(5, None), BoundStep(20, BASE_NS)]


def test_a_refutation_for_some_schedules_is_none_for_all() -> None:
    results = [result(5, "rotor", refuted=refutation(PERSISTENT, 9))]
    assert bound_steps(compared_runs(results), ALL) == [BoundStep(5, BASE_NS)]


def test_the_bounds_are_stairs_at_their_values() -> None:
    results = [
        result(14, "rotor", bounds=[(36, ALL), (40, PERSISTENT)]),
        result(20, "rotor", STORE_ALL, bounds=[(32, PERSISTENT)]),
    ]
    axes = plot_compare(results).axes[0]
    everything, persistent = edge(axes, ALL).get_data(), edge(axes, PERSISTENT).get_data()
    # 36 ns and 40 ns are 12.5 % and 25 % more than 32 ns; beyond 20 bytes nothing is known.
    assert list(everything.values) == [12.5, 0, 0]
    assert list(persistent.values) == [25, 0, 0]
    left, right = axes.get_xlim()
    assert list(persistent.edges) == [left, 14, 20, right]


def test_a_refuted_memory_is_ruled_out_to_the_top() -> None:
    results = [
        result(5, "rotor", refuted=refutation(PERSISTENT, 9)),
        result(20, "rotor", STORE_ALL),
    ]
    axes = plot_compare(results).axes[0]
    heights = edge(axes, PERSISTENT).get_data().values
    assert all(heights[:2] > axes.get_ylim()[1])


def test_bounds_that_say_no_more_than_the_base_time_are_not_drawn() -> None:
    axes = plot_compare([result(20, "store-all", STORE_ALL, bounds=[(32, PERSISTENT)])]).axes[0]
    assert legend_texts(axes) == ["store-all", "base time 32 ns"]


def test_on_a_graph_the_narrower_class_is_that_of_staged_schedules() -> None:
    problem = RematGraph(LADDER, "100%")
    order = [0, 1, 2, 3, 0, 4, 5, 6]
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=GraphSchedule.from_computations(LADDER, order),
        bounds=(Bound(time_ns=16, valid_for=STAGED, evidence=Evidence.EXACT, method="mine"),),
    )
    axes = plot_compare([Result.from_outcome(problem, "mine", outcome, 0.0)]).axes[0]
    assert legend_texts(axes)[-1] == "lower bound, staged schedules"
    # The base time is 15 ns.
    assert edge(axes, STAGED).get_data().values[0] == pytest.approx(100 / 15)


def _with_link(bandwidth: str) -> Result:
    problem = RematOffloadChain(UNIFORM, "100%", bandwidth)
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=STORE_ALL,
        bounds=(
            Bound(time_ns=32, valid_for=ScheduleClass.POFO, evidence=Evidence.EXACT, method="m"),
        ),
    )
    return Result.from_outcome(problem, "mine", outcome, 0.0)


def test_the_link_stands_in_the_title() -> None:
    axes = plot_compare([_with_link("12GB/s")]).axes[0]
    assert axes.get_title("left") == "uniform (remat-offload-chain, 12 GB/s)"


def test_results_of_two_bandwidths_are_refused() -> None:
    with pytest.raises(InputError, match="results of 2 bandwidths"):
        plot_compare([_with_link("12GB/s"), _with_link("24GB/s")])


# Three blocks of 2 + 6 ns and an embedding of 9 bytes without time. B 1 needs most: weights and
# gradient of the embedding, and one byte that is saved.
BLOCKS_NS, LEAST_BYTES = 24, 19


def _weights(
    memory_bytes: int, bounds: Sequence[int] = (), schedule: Schedule | None = None
) -> Result:
    problem = WeightOffload(EQUAL_LAYERS, memory_bytes, "1GB/s")
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=schedule or layer_to_layer(problem),
        bounds=tuple(
            Bound(time_ns=time_ns, valid_for=ALL, evidence=Evidence.EXACT, method="mine")
            for time_ns in bounds
        ),
    )
    if memory_bytes < LEAST_BYTES:
        outcome = Outcome(
            termination=Termination.COMPLETED, infeasibility=refutation(ALL, LEAST_BYTES)
        )
    return Result.from_outcome(problem, "mine", outcome, 0.0)


def test_offloaded_weights_have_one_class_of_schedules_and_one_region() -> None:
    axes = plot_compare([_weights(20, [30]), _weights(25, [27])]).axes[0]
    assert axes.get_title("left") == "equal layers (weight-offload, 1 GB/s)"
    assert legend_texts(axes) == ["mine", "base time 24 ns", "lower bound, all schedules"]
    # 30 and 27 ns are 25 and 12.5 % more than 24 ns.
    assert list(edge(axes, ALL).get_data().values) == [25, 12.5, 0]
    assert axes.get_ylabel() == "overhead over the base time (%)"


def test_without_more_than_the_base_time_offloaded_weights_have_no_region() -> None:
    axes = plot_compare([_weights(20, [24])]).axes[0]
    assert legend_texts(axes) == ["mine", "base time 24 ns"]


def test_the_least_memory_of_offloaded_weights_holds_for_all_schedules() -> None:
    results = [_weights(10), _weights(25, [30])]
    assert bound_steps(compared_runs(results), ALL) == [
        BoundStep(10, None),
        BoundStep(LEAST_BYTES - 1, None),
        BoundStep(25, 30),
    ]


def test_a_comparison_in_which_nothing_fits_is_drawn() -> None:
    figure = plot_compare([result(0, "rotor", refuted=refutation(ALL, 9))])
    figure.draw_without_rendering()
    assert legend_texts(figure.axes[0])[0] == "base time 32 ns"


def test_an_instance_that_takes_no_time_is_drawn() -> None:
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=1)
    chain = Chain("timeless", 1, (loss,))
    figure = plot_compare([result(9, "store-all", store_all_schedule(chain), chain=chain)])
    figure.draw_without_rendering()
    assert list(line(figure.axes[0], "store-all").get_ydata()) == [0]


def test_memory_is_in_gibibytes_where_it_is_large() -> None:
    axes = plot_compare([result(3 * 2**29, "store-all", STORE_ALL)]).axes[0]
    assert axes.get_xlabel() == "memory limit (GiB)"
    assert list(line(axes, "store-all").get_xdata()) == [1.5]


def test_results_of_two_instances_are_refused() -> None:
    other = result(60, "store-all", store_all_schedule(UNEVEN), chain=UNEVEN)
    with pytest.raises(InputError, match="results of 2 instances"):
        plot_compare([result(20, "store-all", STORE_ALL), other])


def test_no_results_are_refused() -> None:
    with pytest.raises(InputError, match="results of 0 instances"):
        plot_compare([])
