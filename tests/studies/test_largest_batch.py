"""The largest batch at a bounded cost: the search finds what trying all batches finds."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from jettison import Chain, InputError, RematChain, RematGraph, ScheduleClass
from jettison.core import LargestBatch, largest_batch
from jettison.instances.generators.training_networks import NETWORKS, vgg
from jettison.remat_chain import Stage
from jettison.remat_graph import Graph, Node
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.studies.largest_batch import forward_pass_ns
from tests.cli.terminal import Terminal
from tests.remat_graph.oracles.brute_force import least_time_ns

EXACT = SolveOptions(time_limit_s=None, gap=0)


def line(batch: int) -> Graph:
    """Three layers of uneven times and sizes, a loss, and three gradients."""
    nodes = [
        Node(
            name=f"layer{k}",
            duration_ns=batch * duration,
            output_bytes=batch * size,
            inputs=(f"layer{k - 1}",) if k else (),
        )
        for k, (duration, size) in enumerate(((1, 2), (2, 3), (5, 1)))
    ]
    nodes.append(Node(name="loss", duration_ns=0, output_bytes=batch, inputs=("layer2",)))
    for k in reversed(range(3)):
        forward = nodes[k]
        nodes.append(
            Node(
                name=f"grad{k}",
                duration_ns=2 * forward.duration_ns,
                output_bytes=batch,
                inputs=(f"grad{k + 1}" if k < 2 else "loss", f"layer{k}"),
                backward=True,
            )
        )
    return Graph(f"line-b{batch}", tuple(nodes))


def found(memory_bytes: int, **named: object) -> LargestBatch:
    return largest_batch(
        lambda batch: RematGraph(line(batch), memory_bytes),
        options=EXACT,
        **named,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("extra_passes", [0, Fraction(1, 8), Fraction(1, 2), 1])
@pytest.mark.parametrize("memory_bytes", [40, 41, 55])
def test_it_is_the_largest_batch_of_the_brute_force(
    memory_bytes: int, extra_passes: Fraction
) -> None:
    # Within the limit of the batch, without the order of the graph, is at least what is found.
    within = []
    for batch in range(1, 25):
        best_ns = least_time_ns(line(batch), memory_bytes)
        # Forward takes 8 ns a sample, backward twice as much.
        limit_ns = 24 * batch + extra_passes * 8 * batch
        if best_ns is not None and best_ns <= limit_ns:
            within.append(batch)
    answer = found(memory_bytes, extra_passes=extra_passes)
    assert answer.best is not None
    # Whatever fits in a batch fits in a smaller one.
    assert within == list(range(1, answer.best.batch + 1))
    assert answer.is_settled
    assert answer.at_most == answer.best.batch
    assert answer.refuted is not None
    assert answer.refuted.batch == answer.best.batch + 1


def test_more_passes_allow_larger_batches_and_never_smaller_ones() -> None:
    sizes = []
    for passes in (0, Fraction(1, 8), Fraction(1, 4), 1):
        best = found(60, extra_passes=passes).best
        assert best is not None
        assert best.result.replay is not None
        assert best.result.replay.valid
        assert best.result.time_ns is not None
        assert best.result.time_ns <= best.limit_ns
        sizes.append(best.batch)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 7, 8])
def test_no_batch_beyond_those_asked_about_is_tried(most: int) -> None:
    everything = found(10**6, most=most)
    assert everything.best is not None
    assert everything.best.batch == most == everything.at_most
    assert everything.is_settled
    assert everything.refuted is None
    some = found(40, most=most)
    unlimited = found(40).best
    assert some.best is not None
    assert unlimited is not None
    assert some.best.batch == min(most, unlimited.batch)
    assert max(trial.batch for trial in some.trials) <= most


def test_a_heuristic_leaves_open_what_it_cannot_refute() -> None:
    exact, rule = found(60), found(60, method="chen-sqrt")
    assert exact.best is not None
    assert rule.best is not None
    assert rule.best.batch <= exact.best.batch
    # Its own bounds are the time without recomputation, and what single operations need.
    assert rule.at_most is None or rule.at_most >= exact.best.batch


def test_where_nothing_fits_that_is_proved() -> None:
    answer = found(2)
    assert (answer.best, answer.at_most, answer.is_settled) == (None, 0, True)
    assert answer.refuted is not None
    assert answer.refuted.refuted_for is ScheduleClass.ALL


def test_chains_have_a_forward_pass_too() -> None:
    def chain(batch: int) -> Chain:
        layer = Stage(
            name="layer",
            forward_ns=2 * batch,
            backward_ns=3 * batch,
            output_bytes=batch,
            saved_bytes=4 * batch,
        )
        loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
        stages = tuple(replace(layer, name=f"{number}") for number in range(3))
        return Chain("chain", batch, (*stages, loss))

    assert forward_pass_ns(chain(5)) == 3 * 10 + 1
    answer = largest_batch(lambda batch: RematChain(chain(batch), 100), options=EXACT)
    assert answer.best is not None
    batch = answer.best.batch
    for size, counts in ((batch, True), (batch + 1, False)):
        result = solve_with(RematChain(chain(size), 100), None, EXACT)
        limit_ns = chain(size).base_time_ns + forward_pass_ns(chain(size))
        assert (result.time_ns is not None and result.time_ns <= limit_ns) == counts


def test_bad_questions_are_named() -> None:
    unmarked = Graph("unmarked", (Node(name="a", duration_ns=1, output_bytes=1),))
    for problem_of, named, field in (
        (lambda batch: RematGraph(line(batch), 40), {"most": 0}, "most"),
        (lambda batch: RematGraph(line(batch), 40), {"extra_passes": -1}, "extra_passes"),
        (lambda batch: RematGraph(line(batch), "60%"), {}, "memory"),
        (lambda batch: RematGraph(unmarked, 40), {}, "nodes.backward"),
    ):
        with pytest.raises(InputError) as caught:
            largest_batch(problem_of, **named)  # type: ignore[arg-type]
        assert caught.value.field == field


@pytest.mark.parametrize("name", NETWORKS)
def test_generated_steps_grow_in_proportion_to_their_batch(name: str) -> None:
    one, seven = NETWORKS[name](1), NETWORKS[name](7)
    for small, large in zip(one.nodes, seven.nodes, strict=True):
        assert (small.name, small.inputs) == (large.name, large.inputs)
        assert large.output_bytes == 7 * small.output_bytes
        # Rounded down to a whole nanosecond, and twice that in the backward pass.
        assert 0 <= large.duration_ns - 7 * small.duration_ns < 14


def test_the_command_finds_the_largest_batch_of_a_network(terminal: Terminal) -> None:
    status, out, _ = terminal.run("largest-batch vgg-11 --memory 1GiB")
    assert status == 0
    last = out.rstrip().splitlines()[-1]
    assert last.startswith("largest: ")
    batch = int(last.split()[1].rstrip(";"))
    assert f"; {batch + 1} and more cannot be (" in last
    assert solve_with(RematGraph(vgg(batch, 11), "1GiB"), "exact", EXACT).time_ns is not None
    status, out, _ = terminal.run("largest-batch vgg-11 --memory 1GiB --json --extra-passes 0")
    document = json.loads(out)
    assert status == 0
    assert document["settled"]
    assert document["largest_batch"] == document["at_most"] < batch
    assert vgg(document["largest_batch"], 11).store_all_peak_bytes <= 2**30
    assert vgg(document["at_most"] + 1, 11).store_all_peak_bytes > 2**30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("vgg-12 --memory 1GiB", "network"),
        ("vgg-11 --memory 50%", "write one amount for all"),
        ("vgg-11 --memory 50% --most 1", "write one amount for all"),
        ("vgg-11 --memory 1", "'1' has no unit; write one amount for all"),
        ("vgg-11 --memory alpha=0.2", "write one amount for all"),
        ("vgg-11 --memory 1GiB --most 0", "most"),
        ("vgg-11 --memory 1GiB --extra-passes=-1", "extra_passes"),
        ("vgg-11 --memory 1GiB --extra-passes many", "extra_passes"),
        ("vgg-11 --memory 1GiB --extra-passes 1e99999999", "extra_passes"),
        ("vgg-11 --memory 1GiB --extra-passes 1/0", "extra_passes"),
        ("vgg-11 --memory 1GiB --method rotor", "method"),
    ],
)
def test_bad_words_are_bad_input(terminal: Terminal, words: str, said: str) -> None:
    status, _, error = terminal.run(f"largest-batch {words}")
    assert status == 2
    assert said in error


def test_statuses_tell_what_is_known(terminal: Terminal) -> None:
    assert terminal.run("largest-batch vgg-11 --memory 1MiB")[0] == 3
    status, out, _ = terminal.run("largest-batch vgg-11 --memory 8GiB --most 3")
    assert status == 0
    assert out.rstrip().endswith("largest: 3, the largest asked about")
