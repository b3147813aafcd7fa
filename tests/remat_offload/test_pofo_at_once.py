"""The search over plans that are timed at once, with sources of plans that are made up."""

from __future__ import annotations

from fractions import Fraction

from jettison import RematOffloadChain, Result, solve
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.pofo.at_once import offer_plans, plan_resources
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket
from tests.drawing.chains import chain_of
from tests.remat_offload.sequences import sequence

LOSS = (1, 0, 1, 0, 0)
# Three equal layers that save 2 bytes, with outputs and an input of 1 byte, and a loss of 3.
CHAIN = chain_of(1, (5, 1, 2, 0, 0), (5, 1, 2, 0, 0), (5, 1, 2, 0, 0), (1, 0, 3, 0, 0))
PROBLEM = RematOffloadChain(CHAIN, 8, "1GB/s")
PLAN = OffloadPlan(
    store_all_schedule(CHAIN), (Tensor(TensorKind.PLAIN, 0), Tensor(TensorKind.SAVED, 1))
)
NO_LIMIT = SolveOptions(time_limit_s=None)


class Source:
    """Hands out one plan, and remembers for what it was asked."""

    def __init__(self, plan: OffloadPlan | None) -> None:
        self.plan = plan
        self.asked: list[tuple[int, int]] = []
        self.limits: list[Fraction | None] = []

    def __call__(
        self, memory_bytes: int, bytes_per_s: int, limit_ns: Fraction | None
    ) -> PofoBracket:
        self.asked.append((memory_bytes, bytes_per_s))
        self.limits.append(limit_ns)
        plan_ns = None if self.plan is None else Fraction(CHAIN.base_time_ns + 4)
        return PofoBracket(plan=self.plan, plan_ns=plan_ns)


def _result(source: Source, problem: RematOffloadChain = PROBLEM) -> Result:
    incumbent = OffloadIncumbent(problem)
    outcome = incumbent.search(offer_plans(incumbent, source), "nothing")
    return Result.from_outcome(problem, "pofo", outcome, 0.0)


def test_plans_are_asked_for_with_less_memory_and_on_slower_links() -> None:
    problem = RematOffloadChain(CHAIN, 50, 100)
    resources = plan_resources(problem)
    assert resources[:4] == [(50, 75), (50, 50), (49, 100), (49, 75)]
    assert resources[-1] == (42, 50)
    # Where saving everything fits, the first plan is the last.
    source = Source(OffloadPlan(store_all_schedule(CHAIN), ()))
    assert _result(source, problem).status == "optimal"
    assert source.asked == [(42, 100)]


def test_a_plan_is_a_limit_in_more_memory_and_on_slower_links() -> None:
    problem = RematOffloadChain(CHAIN, 50, "1GB/s")
    source = Source(PLAN)
    incumbent = OffloadIncumbent(problem)
    list(offer_plans(incumbent, source))
    # Links from fast to slow, and memory from little to much.
    rates = [rate for _, rate in source.asked]
    assert rates == sorted(rates, reverse=True)
    assert source.asked[:2] == [(42, 10**9), (43, 10**9)]
    assert source.limits[:2] == [None, CHAIN.base_time_ns + 4]
    # The first on a slower link: what was found on the faster one. Three bytes come back in 4 ns
    # there, beside three backward operations of 1 ns, so that the last one waits for 1 ns.
    slower = source.asked.index((42, 750_000_000))
    assert source.limits[slower] == CHAIN.base_time_ns + 1
    # One plan was handed out, and it is offered once, in two timings.
    assert incumbent.offered == 2


def test_without_plans_there_is_a_note() -> None:
    assert _result(Source(None)).note == "nothing"


def test_a_plan_counts_that_autocapper_does_not_come_upon() -> None:
    chain = chain_of(0, (5, 2, 3, 0, 0), (8, 1, 2, 0, 0), (9, 1, 2, 0, 0), (4, 2, 5, 0, 0), LOSS)
    computations = sequence(
        "F_all 1, F_all 2, F_ck 3, F_all 4, F_all 5, B 5, B 4, F_all 3, B 3, B 2, B 1"
    ).computations
    a3, saved_1, saved_2 = (
        Tensor(kind, number)
        for kind, number in ((TensorKind.PLAIN, 3), (TensorKind.SAVED, 1), (TensorKind.SAVED, 2))
    )
    problem = RematOffloadChain(chain, 9, "1GB/s")
    capped = solve(problem, "autocapper")
    # Nothing waits until B 4 ends, at 5 + 8 + 9 + 4 + 1 + 1 + 1 = 29. ā2 comes back from 29 to 31,
    # and ā1 while F 3 runs again, 31-40. Three more backwards: 43.
    found = _result(Source(OffloadPlan(computations, (saved_1, saved_2, a3))), problem)
    assert found.time_ns == 43
    assert capped.time_ns is not None
    assert capped.time_ns > 43


def test_a_plan_that_needs_more_memory_than_there_is_is_left_out() -> None:
    # Saving everything takes 11 bytes.
    source = Source(OffloadPlan(store_all_schedule(CHAIN), ()))
    assert _result(source).schedule is None


def test_a_source_that_is_out_of_time_ends_the_search_with_the_best_so_far() -> None:
    asked = []

    def plans(memory_bytes: int, bytes_per_s: int, limit_ns: Fraction | None) -> PofoBracket:
        asked.append(memory_bytes)
        if len(asked) == 2:
            raise TimeoutError
        return PofoBracket(plan=PLAN, plan_ns=Fraction(CHAIN.base_time_ns))

    incumbent = OffloadIncumbent(PROBLEM)
    outcome = incumbent.search(offer_plans(incumbent, plans), "nothing")
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is not None
    assert len(asked) == 2
