"""Models of several architectures: instance, files, divisions, bound, exact and heuristics."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import jettison as jt
from jettison import Link, MultiModel, MultiModelTraining, load, load_schedule, save, save_schedule
from jettison.core import InputError
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.joined import joined_models
from jettison.instances.multi_model.sub_array_key import Key, OfArchitecture, key_of
from jettison.multi_model import TrainingUnit
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.certifier import certify_multi_model
from jettison.solvers.multi_model.least_division import unit_need_bytes, units_that_fit
from tests.certificates.second_checker import verdicts
from tests.multi_model.oracles.brute_force import least_unit_ns
from tests.multi_model.units import hand_made

Units = tuple[tuple[Key, ...], ...]
EXACT = SolveOptions(time_limit_s=60, gap=0)


def small(seed: int, models: int = 1) -> MultiModel:
    return RandomModels(
        operators=3,
        tensors=1,
        models=models,
        reach=1,
        most_ns=12,
        most_bytes=12,
        bandwidth=Link(10**9),
    ).draw(seed)


def mixed(seed: int, counts: tuple[int, ...] = (1, 1)) -> MultiModel:
    """Return tiny models of several architectures."""
    return joined_models([small(seed + 50 * place, count) for place, count in enumerate(counts)])


def divisions(
    left: tuple[int, ...], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], ...]]:
    """Yield all divisions of models into units: the first that is left is in the next unit."""
    if not any(left):
        yield ()
        return
    place = next(number for number, count in enumerate(left) if count)
    for first in keys:
        for second in (None, *keys):
            unit = (first,) if second is None else tuple(sorted((first, second)))
            rest = list(left)
            owns = False
            for key in unit:
                architecture = 0 if isinstance(key, int) else key.architecture
                rest[architecture] -= key if isinstance(key, int) else key.models
                owns |= architecture == place
            if owns and min(rest) >= 0:
                for others in divisions(tuple(rest), keys):
                    yield (unit, *others)


def least_ns(problem: MultiModelTraining, known_ns: int) -> int:
    """Return the least time of all divisions, or `known_ns` if none is faster.

    It comes from brute force over the lists of operations of each unit. A unit matters only where
    it is faster than what `known_ns` leaves beside the operators of the other units.
    """
    compute_ns = {key: problem.sub_array(key).compute_ns for key in problem.keys}
    found: dict[tuple[tuple[Key, ...], int], int] = {}
    least = known_ns
    for units in divisions(problem.counts, problem.keys):
        total = sum(compute_ns[key] for unit in units for key in unit)
        time_ns = 0
        for unit in units:
            own_ns = sum(compute_ns[key] for key in unit)
            most_ns = known_ns - (total - own_ns)
            if unit_need_bytes(problem, unit) > problem.memory_bytes or most_ns <= own_ns:
                time_ns += max(most_ns, own_ns)
                continue
            if (unit, most_ns) not in found:
                arrivals = 2 if len(unit) == 1 else 1
                least_of = least_unit_ns(problem, unit, most_ns, most_arrivals=arrivals)
                found[unit, most_ns] = int(least_of)
            time_ns += found[unit, most_ns]
        least = min(least, time_ns)
    return least


def crowded(chance: random.Random, models: int = 1) -> MultiModel:
    """Return models of a few operators that hold nothing for good, and one feature map."""
    layers = chance.randint(1, 2)
    size_bytes = chance.randint(3, 6)
    forward = [(chance.randint(1, 4), size_bytes) for _ in range(layers)]
    peaks = [chance.choice((size_bytes, 2 * size_bytes)) for _ in range(layers)]
    backward = [(chance.randint(1, 4), peak) for peak in (*peaks, size_bytes)]
    return hand_made(
        forward,
        backward,
        [(size_bytes, 0, layers)],
        swap_ns=chance.randint(1, 4),
        recompute_ns=chance.randint(2, 6),
        models=models,
    )


def crowded_problem(chance: random.Random, counts: tuple[int, ...]) -> MultiModelTraining:
    """Return models of several architectures in the memory of the largest, hardly more."""
    models = joined_models([crowded(chance, count) for count in counts])
    alone = [key_of(place, 1) for place in range(len(counts))]
    problem = MultiModelTraining(models, 10**9)
    needed = max(unit_need_bytes(problem, (key,)) for key in alone)
    return MultiModelTraining(models, needed + chance.randint(0, 3))


@pytest.mark.parametrize(("counts", "cases"), [((1, 1), 14), ((2, 1), 6)])
def test_exact_is_the_least_over_all_divisions_and_everything_else_is_around_it(
    counts: tuple[int, ...], cases: int
) -> None:
    heuristics = [m.name for m in methods_of("multi-model") if m.promise is Promise.HEURISTIC]
    chance, paired, waiting = random.Random(7), 0, 0
    for case in range(cases):
        problem = crowded_problem(chance, counts)
        exact = solve_with(problem, "exact", EXACT)
        assert exact.status == "optimal"
        assert exact.time_ns is not None
        assert exact.time_ns == least_ns(problem, exact.time_ns), case
        waiting += exact.time_ns > problem.base_time_ns
        assert isinstance(exact.schedule, MultiModelSchedule)
        paired += any(
            len({isinstance(key, int) for key in unit.sizes}) == 2 for unit in exact.schedule.units
        )
        bound = solve_with(problem, "bound", EXACT)
        assert bound.lower_bound_ns is not None
        assert problem.base_time_ns <= bound.lower_bound_ns <= exact.time_ns
        best_ns = solve_with(problem, "local-search", EXACT).time_ns
        for name in heuristics:
            time_ns = solve_with(problem, name, EXACT).time_ns
            assert time_ns is None or best_ns is None or time_ns >= best_ns >= exact.time_ns
    assert paired > 1
    assert waiting > cases // 3


def test_a_certificate_of_several_architectures_is_accepted_by_both_checkers(
    tmp_path: Path,
) -> None:
    chance, paths, costly = random.Random(91), [], 0
    for case in range(12):
        problem = crowded_problem(chance, (1 + case % 2, 1))
        bound = solve_with(problem, "bound", EXACT)
        certificate = certify_multi_model(problem, bound.bounds, None, EXACT)
        assert certificate is not None
        exact_ns = solve_with(problem, "exact", EXACT).time_ns
        assert exact_ns is not None
        assert certificate.time_ns is not None
        assert certificate.time_ns <= exact_ns
        costly += certificate.time_ns > problem.base_time_ns
        paths.append(tmp_path / f"{case}.gz")
        certificate.save(paths[-1])
    assert costly > 2
    assert set(verdicts(paths)) == {"proved"}


def test_local_search_is_no_slower_than_any_other_heuristic() -> None:
    problem = crowded_problem(random.Random(1), (2, 2))
    best = solve_with(problem, "local-search", EXACT).time_ns
    assert best is not None
    for method in methods_of("multi-model"):
        if method.promise is Promise.HEURISTIC:
            time_ns = solve_with(problem, method.name, EXACT).time_ns
            assert time_ns is None or time_ns >= best


def test_baselines_train_one_architecture_after_the_other() -> None:
    models = mixed(0, (2, 3))
    problem = MultiModelTraining(models, 10**12)
    for name in ("hfta", "hfta-capuchin", "capuchin", "recompute-only"):
        schedule = solve_with(problem, name, EXACT).schedule
        assert isinstance(schedule, MultiModelSchedule)
        keys = [unit.sizes for unit in schedule.units]
        assert keys == [(2,), (OfArchitecture(1, 3),)], name


def test_keys_have_an_order_that_begins_with_the_first_architecture() -> None:
    keys: list[Key] = [OfArchitecture(2, 1), 7, OfArchitecture(1, 5), 2, OfArchitecture(1, 2)]
    ordered = [2, 7, OfArchitecture(1, 2), OfArchitecture(1, 5), OfArchitecture(2, 1)]
    assert sorted(keys) == ordered
    assert [str(key) for key in ordered[1:3]] == ["7", "1:2"]


def test_instance_and_schedule_survive_files_and_old_hashes_stay(tmp_path: Path) -> None:
    models = mixed(4, (2, 2))
    save(models, tmp_path / "models.json")
    again = load(tmp_path / "models.json")
    assert again == models
    assert again.sha256 == models.sha256
    assert "others" not in small(4).to_json()
    assert models.sha256 != small(4, 2).sha256
    result = solve_with(MultiModelTraining(models, 10**6), "local-search", EXACT)
    assert result.schedule is not None
    save_schedule(result.schedule, models, tmp_path / "plan.json", result.claim)
    assert load_schedule(tmp_path / "plan.json", models) == result.schedule


def test_the_replay_counts_the_models_of_each_architecture() -> None:
    problem = MultiModelTraining(mixed(0, (2, 2)), 10**12)
    schedule = solve_with(problem, "hfta", EXACT).schedule
    assert isinstance(schedule, MultiModelSchedule)
    first, second = schedule.units
    assert schedule.replay(problem).valid
    twice = MultiModelSchedule((first, first)).replay(problem)
    messages = " ".join(map(str, twice.violations))
    assert "4 models of architecture 0 are trained, not 2" in messages
    assert "0 models of architecture 1 are trained, not 2" in messages
    unknown = TrainingUnit((OfArchitecture(3, 2),), second.rounds)
    assert not MultiModelSchedule((first, unknown)).replay(problem).valid


def test_units_of_two_architectures_are_among_those_that_fit() -> None:
    problem = MultiModelTraining(mixed(0, (2, 1)), 10**12)
    one = OfArchitecture(1, 1)
    assert units_that_fit(problem) == [(1,), (2,), (one,), (1, 1), (1, one), (2, one)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": 0}, r"others\[0\]\.models: 0 is less than the minimum"),
        ({"sizes": [2, 1]}, r"others\[0\]\.sizes"),
        ({"static_bytes": [1]}, r"others\[0\]\.static_bytes"),
        ({"forward": []}, r"others\[0\]\.forward"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_wrong_architecture_is_named(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    document = mixed(4, (2, 2)).to_json()
    document["others"][0] |= change  # type: ignore[index]
    path = tmp_path / "models.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory": "50%"}, "memory: 50% of the peak of 4 different models"),
        ({"models": 3}, "models: 3 of 4 models of 2 architectures; leave it out"),
        ({"models": 5}, "models: 5; .* has 1 to 4 models"),
    ],
)
def test_what_several_architectures_do_not_have_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        MultiModelTraining(mixed(4, (2, 2)), **({"memory": "1GiB"} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ({"architectures": [2]}, r"units\[0\]\.architectures\[0\]: 2; .* architectures 0 to 1"),
        ({"architectures": [0, 1]}, r"units\[0\]\.architectures: 2 entries for 1 sub-arrays"),
        ({"sizes": [5]}, r"units\[0\]\.sizes\[0\]: 5 models"),
    ],
)
def test_a_unit_of_no_such_architecture_is_refused(
    tmp_path: Path, unit: dict[str, object], message: str
) -> None:
    models = mixed(0, (2, 2))
    result = jt.solve(MultiModelTraining(models, 10**12), method="hfta")
    assert result.schedule is not None
    path = tmp_path / "plan.json"
    save_schedule(result.schedule, models, path)
    document = json.loads(path.read_text())
    document["units"][0] |= unit
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        load_schedule(path, models)


def test_too_many_models_of_several_architectures_and_other_links_are_refused() -> None:
    many = [small(place, 64) for place in (0, 1, 2)]
    with pytest.raises(InputError, match="others: 64 and 64 and 64 models"):
        joined_models(many)
    slow = RandomModels(operators=3, tensors=1, models=1, bandwidth=Link(5)).draw(0)
    with pytest.raises(InputError, match="links of 5 and 1000000000 bytes/s"):
        joined_models([small(0), slow])
    with pytest.raises(InputError, match="1 instances; give at least two"):
        joined_models([small(0)])
    with pytest.raises(InputError, match="1 numbers for 2 architectures"):
        joined_models([small(0), small(1)], models=[1])
