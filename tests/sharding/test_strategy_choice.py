from __future__ import annotations

from pathlib import Path

import pytest

from jettison import InputError, StrategyGraph, load_schedule, save_schedule
from jettison.schedules.core.picture_file import save_figure
from jettison.schedules.core.replay import Rule
from jettison.schedules.sharding.choice_plot import plot_choice
from jettison.sharding import StrategyChoice, StrategyEdge, StrategyNode
from tests.each import each
from tests.sharding.oracles.strategy_brute_force import all_choices, random_graph

# The example that the contest publishes in its description: a node costs 15 at least, and so on.
EXAMPLE = StrategyGraph(
    "example",
    tuple(
        StrategyNode(name=f"n{i}", interval=interval, costs_ns=costs, usages_bytes=usages)
        for i, (interval, costs, usages) in enumerate(
            [
                ((30, 70), (15,), (10,)),
                ((40, 70), (55, 65), (25, 25)),
                ((50, 120), (25, 45, 35), (15, 20, 15)),
                ((110, 140), (85, 75), (10, 10)),
                ((110, 150), (95,), (15,)),
            ]
        )
    ),
    tuple(
        StrategyEdge(first=f"n{i}", second=f"n{j}", costs_ns=costs)
        for i, j, costs in [
            (0, 1, (30, 40)),
            (0, 2, (50, 10, 40)),
            (1, 3, (90, 10, 20, 80)),
            (2, 4, (60, 20, 30)),
            (3, 4, (70, 60)),
        ]
    ),
    usage_limit_bytes=50,
)


def test_costs_of_nodes_and_edges_add_up() -> None:
    replay = StrategyChoice((0, 0, 2, 1, 0)).replay(EXAMPLE, 50)
    # Nodes 15 + 55 + 35 + 75 + 95 = 275; edges 30 + 40 + 10 + 30 + 60 = 170.
    assert replay.time_ns == 445
    assert replay.valid
    # At 50: 10 + 25 + 15; at 110: 15 + 10 + 15.
    assert replay.peak_bytes == 50
    assert replay.memory_profile == (
        (30, 10),
        (40, 35),
        (50, 50),
        (70, 15),
        (110, 40),
        (120, 25),
        (140, 15),
        (150, 0),
    )


def test_memory_that_is_exceeded_is_named_by_its_first_time() -> None:
    replay = StrategyChoice((0, 0, 1, 1, 0)).replay(EXAMPLE, 40)
    # 55 bytes on [50, 70), and 20 + 10 + 15 = 45 on [110, 120).
    assert [str(item) for item in replay.violations] == [
        "at the time 50: out of memory: what is live, 15 bytes over the limit",
        "at the time 110: out of memory: what is live, 5 bytes over the limit",
    ]


def test_a_value_is_gone_when_its_interval_ends() -> None:
    # [0, 2) and [2, 4) never meet, and [3, 3) is never.
    nodes = tuple(
        StrategyNode(name=f"n{i}", interval=interval, costs_ns=(0,), usages_bytes=(7,))
        for i, interval in enumerate([(0, 2), (2, 4), (3, 3)])
    )
    replay = StrategyChoice((0, 0, 0)).replay(StrategyGraph("apart", nodes), 7)
    assert replay.valid
    assert replay.peak_bytes == 7


def test_what_is_forbidden_or_unknown_is_named() -> None:
    graph = StrategyGraph(
        "forbidden",
        tuple(
            StrategyNode(name=name, interval=(0, 1), costs_ns=(1, None), usages_bytes=(0, 0))
            for name in "ab"
        ),
        (StrategyEdge(first="a", second="b", costs_ns=(None, 2, 3, 4)),),
    )
    rules = {
        (0, 0): [Rule.FORBIDDEN_PAIR],
        (1, 0): [Rule.FORBIDDEN_STRATEGY],
        (0, 2): [Rule.UNKNOWN_OPERATION],
        (-1, 0): [Rule.UNKNOWN_OPERATION],
    }
    for strategies, expected in rules.items():
        violations = StrategyChoice(strategies).replay(graph).violations
        assert [item.rule for item in violations] == expected


def test_one_strategy_for_each_node_is_needed() -> None:
    with pytest.raises(InputError, match="give one for each of the 5 nodes"):
        StrategyChoice((0, 0)).replay(EXAMPLE)


@each(seed=range(30))
def test_the_replay_agrees_with_the_brute_force(seed: int) -> None:
    graph = random_graph(seed, most_nodes=4)
    for cost, peak, strategies in all_choices(graph):
        replay = StrategyChoice(strategies).replay(graph, peak)
        assert replay.valid
        assert (replay.time_ns, replay.peak_bytes) == (cost, peak)
        if peak:
            assert not StrategyChoice(strategies).replay(graph, peak - 1).valid


def test_a_file_gives_the_choice_back_and_names_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "choice.json"
    choice = StrategyChoice((0, 0, 2, 1, 0))
    save_schedule(choice, EXAMPLE, path)
    assert load_schedule(path, EXAMPLE) == choice
    text = path.read_text(encoding="utf-8")
    for old, new, problem in (
        ('"n2": 2', '"n2": 3', "3 is not a strategy of 'n2'; write a strategy from 0 to 2"),
        ('"n2": 2', '"n9": 2', "'n9' is not a node of example"),
        ('"n2": 2,', "", "'n2' has no strategy"),
    ):
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            load_schedule(path, EXAMPLE)
        assert problem in str(caught.value)


def test_a_picture_shows_any_choice(tmp_path: Path) -> None:
    for number, limit in enumerate((None, 50, 40)):
        replay = StrategyChoice((0, 0, 1, 1, 0)).replay(EXAMPLE, limit)
        figure = plot_choice(replay, title="example: $by hand")
        axes, bars = figure.axes
        assert axes.get_title(loc="left") == "example: $by hand"
        assert len(bars.patches) == 5
        save_figure(figure, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 5000
