"""µ-TWO's partitions of models into pairs of sub-arrays."""

from __future__ import annotations

import pytest

from jettison.solvers.multi_model.mu_two.divisions import paired_divisions


def test_eight_models_have_five_divisions_one_more_than_the_paper_lists() -> None:
    # The partitions of 4, doubled: 4, 3+1, 2+2, 2+1+1, 1+1+1+1. The paper leaves out 2+1+1.
    assert list(paired_divisions(8, range(1, 9))) == [
        ((4, 4),),
        ((3, 3), (1, 1)),
        ((2, 2), (2, 2)),
        ((2, 2), (1, 1), (1, 1)),
        ((1, 1), (1, 1), (1, 1), (1, 1)),
    ]


def test_an_odd_number_has_one_pair_that_differs_by_one() -> None:
    # 5 = (3, 2), or (2, 1) and a pair of ones.
    assert list(paired_divisions(5, range(1, 9))) == [((3, 2),), ((2, 1), (1, 1))]


def test_sizes_without_a_profile_are_left_out() -> None:
    assert list(paired_divisions(8, (1, 2))) == [
        ((2, 2), (2, 2)),
        ((2, 2), (1, 1), (1, 1)),
        ((1, 1), (1, 1), (1, 1), (1, 1)),
    ]
    assert list(paired_divisions(3, (1,))) == []


def test_one_model_is_alone() -> None:
    assert list(paired_divisions(1, (1, 2))) == [((1,),)]
    assert list(paired_divisions(1, (2,))) == []


@pytest.mark.parametrize("models", range(2, 13))
def test_every_division_holds_every_model_once_in_pairs_of_closest_sizes(models: int) -> None:
    divisions = list(paired_divisions(models, range(1, models + 1)))
    assert len(set(divisions)) == len(divisions)
    for division in divisions:
        sizes = [size for unit in division for size in unit]
        assert sum(sizes) == models
        assert len(sizes) % 2 == 0
        differences = [larger - smaller for larger, smaller in division]
        assert sum(differences) == models % 2
