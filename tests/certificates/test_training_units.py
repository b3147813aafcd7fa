"""Certificates of several models: what is accepted is right, by both checkers."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jettison import MultiModel, MultiModelTraining, bound, check_certificate, load, solve
from jettison.certificates.claim import Claim, instance_sha256
from jettison.certificates.multi_model.given_models import GivenModels
from jettison.core import CertificateError, InputError
from jettison.instances.generators.random_models import RandomModels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.multi_model.bound.divisions import bound_multi_model
from jettison.solvers.multi_model.certifier import certify_multi_model
from jettison.solvers.proof.certificate import Certificate
from tests.certificates.second_checker import verdicts
from tests.certificates.written_certificate import text_of

CHANGED = 200
LINKS = (None, "1GB/s", "2GB/s:total=3GB/s", "1GB/s:half-duplex")
NO_LIMIT = SolveOptions(time_limit_s=None, gap=0.0)


class Judged(NamedTuple):
    """A problem, its exact optimum, None if nothing fits, and the certificate of its bound."""

    problem: MultiModelTraining
    optimum_ns: int | None
    certificate: Certificate


@cache
def certificates() -> tuple[Judged, ...]:
    """Return certificates of tiny models on all kinds of links; the same in every run."""
    return tuple(_made())


def _made() -> Iterator[Judged]:
    chance = random.Random(80)
    for seed in range(24):
        drawn = RandomModels(
            operators=4, tensors=2, models=1 + seed % 2, timed_percent=50 * (seed % 3)
        ).draw(seed)
        peak_bytes = drawn.sub_array(1).store_all_peak_bytes
        for link in LINKS:
            memory = f"{peak_bytes * chance.randint(60, 130) // 100}B"
            problem = MultiModelTraining(drawn, memory, link)
            bounds = bound_multi_model(problem, NO_LIMIT)
            found = certify_multi_model(problem, bounds.bounds, bounds.infeasibility, NO_LIMIT)
            assert found is not None
            if bounds.infeasibility is None:
                exact_ns = min(item.time_ns for item in bounds.bounds)
                assert found.time_ns is not None
                assert found.time_ns >= exact_ns, (seed, link)
            yield Judged(problem, _optimum_ns(problem), found)


def _optimum_ns(problem: MultiModelTraining) -> int | None:
    answer = solve(problem, method="exact")
    if answer.infeasibility is not None:
        return None
    # On a shared link the search proves a bracket; its schedule is no faster than the optimum.
    return answer.time_ns


def test_no_certificate_exceeds_the_optimum_and_many_exceed_the_operators() -> None:
    costly = empty = 0
    for problem, optimum_ns, certificate in certificates():
        if optimum_ns is None:
            assert certificate.time_ns is None
            empty += 1
            continue
        assert certificate.time_ns is not None
        assert certificate.time_ns <= optimum_ns
        costly += certificate.time_ns > problem.base_time_ns
    assert costly > 20
    assert empty > 10


def test_the_second_checker_proves_the_same(tmp_path: Path) -> None:
    paths = []
    for number, judged in enumerate(certificates()):
        paths.append(tmp_path / f"{number}.gz")
        judged.certificate.save(paths[-1])
    assert set(verdicts(paths)) == {"proved"}


def test_the_checker_reads_sub_arrays_as_the_instance_has_them() -> None:
    for problem, _, certificate in certificates():
        given = GivenModels.from_json(
            certificate.header["instance"], certificate.header["resources"]
        )
        for size in problem.instance.sizes:
            own, read = problem.sub_array(size), given.sub_arrays[0, size]
            assert (own.compute_ns, own.static_bytes) == (read.compute_ns, read.static_bytes)
            assert own.largest_peak_bytes == read.largest_peak_bytes
            assert problem.swap_ns(own) == tuple(item.copy_ns for item in read.tensors)
            for mine, theirs in zip(own.tensors, read.tensors, strict=True):
                assert mine.size_bytes == theirs.size_bytes
                places = (theirs.last_forward, theirs.first_backward)
                assert (mine.last_forward, mine.first_backward) == places


def test_a_changed_certificate_is_refused_or_right_and_both_checkers_say_the_same(
    tmp_path: Path,
) -> None:
    chance = random.Random(81)
    made = [
        gzip.decompress(judged.certificate.compressed).decode().splitlines()
        for judged in certificates()
        if judged.certificate.time_ns != judged.problem.base_time_ns
    ]
    paths, said = [], Counter[str]()
    for number in range(CHANGED):
        _, text, *lines = chance.choice(made)
        header = json.loads(text)
        for _ in range(chance.choice((1, 1, 2))):
            if lines and chance.random() < 0.6:
                _change_lines(lines, chance)
            else:
                _change_header(header, chance)
        path = tmp_path / str(number)
        path.write_text(text_of(header, lines), encoding="ascii")
        paths.append(path)
    for path, second in zip(paths, verdicts(paths), strict=True):
        claim = _claim(path)
        assert (claim is not None) == (second == "proved"), path.read_text()
        said[second] += 1
        if claim is not None:
            _check_truth(claim)
    assert said["refused"] > CHANGED // 5
    assert said["proved"] > CHANGED // 20


def _claim(path: Path) -> Claim | None:
    try:
        return check_certificate(path).claim
    except CertificateError:
        return None


def _check_truth(claim: Claim) -> None:
    """Check an accepted claim against the exact search, where its instance is one."""
    resources = dict(claim.resources)
    rate, total = resources.get("bytes_per_s"), resources.get("total_bytes_per_s")
    link = None if rate is None else f"{rate}B/s" + (f":total={total}B/s" if total else "")
    try:
        problem = MultiModelTraining(
            MultiModel.from_json(claim.instance),
            f"{resources['memory_bytes']}B",
            link,
            models=resources["models"],
        )
    except InputError:
        return
    optimum_ns = _optimum_ns(problem)
    assert optimum_ns is None or (claim.time_ns is not None and claim.time_ns <= optimum_ns), claim


def _change_lines(lines: list[str], chance: random.Random) -> None:
    """Change a number, or drop, double or exchange lines."""
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(8):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            parts = lines[place].split(" ")
            if len(parts) < 2:
                return
            chosen = chance.randrange(1, len(parts))
            numbers = parts[chosen].split(":")
            at = chance.randrange(len(numbers))
            if numbers[at].removeprefix("-").isdecimal():
                step = chance.choice((-(2**60), -100, -1, 1, 100, 2**60))
                numbers[at] = str(int(numbers[at]) + step)
            parts[chosen] = ":".join(numbers)
            lines[place] = " ".join(parts)


def _change_header(header: dict[str, Any], chance: random.Random) -> None:
    """Change what is claimed, or of what."""
    match chance.randrange(5):
        case 0 if "time_ns" in header["claim"]:
            header["claim"]["time_ns"] += chance.choice((-900, -1, 1, 900))
        case 0 | 1:
            memory_bytes = header["resources"]["memory_bytes"]
            header["resources"]["memory_bytes"] = memory_bytes * chance.randint(80, 120) // 100
        case 2 if "bytes_per_s" in header["resources"]:
            key = chance.choice(sorted(header["resources"].keys() - {"memory_bytes", "models"}))
            header["resources"][key] = header["resources"][key] * chance.randint(5, 20) // 10
        case 2 | 3:
            option = chance.choice(("link_bytes", "link_ns"))
            header["formulation"][option] += chance.choice((-1, 1))
        case _:
            instance = copy.deepcopy(header["instance"])
            items = [*instance["forward"], *instance["backward"], *instance["feature_maps"]]
            item = chance.choice(items)
            column = item[chance.choice([key for key, value in item.items() if _is_column(value)])]
            place = chance.randrange(len(column))
            column[place] = column[place] * chance.randint(50, 150) // 100
            header["instance"] = instance
            header["instance_sha256"] = instance_sha256(instance)


def _is_column(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], int)


@pytest.mark.parametrize(
    ("name", "memory"), [("vit-x8", "20GiB"), ("bert-tiny-x4-b2-32-cpu", "50%")]
)
def test_a_bundled_instance_is_certified_to_the_bound_of_the_method(
    name: str, memory: str, tmp_path: Path
) -> None:
    models = load(name)
    assert isinstance(models, MultiModel)
    problem = MultiModelTraining(models, memory)
    bounds = bound_multi_model(problem, NO_LIMIT)
    certificate = certify_multi_model(problem, bounds.bounds, None, NO_LIMIT)
    assert certificate is not None
    assert certificate.time_ns is not None
    assert certificate.time_ns >= bounds.bounds[0].time_ns > problem.base_time_ns
    certificate.save(tmp_path / "c.gz")
    assert verdicts([tmp_path / "c.gz"]) == ["proved"]


def test_fewer_models_and_a_rate_of_long_numbers_are_certified() -> None:
    drawn = RandomModels(operators=6, tensors=3, models=4).draw(3)
    for models in (1, 3):
        memory = f"{drawn.sub_array(1).store_all_peak_bytes * 9 // 10}B"
        problem = MultiModelTraining(drawn, memory, "1.234567891GB/s", models=models)
        verdict = bound(problem, certify=True)
        assert verdict.certificate is not None
        assert verdict.certificate.header["resources"]["models"] == models
        assert verdict.certificate.header["formulation"]["link_ns"] <= 1000
