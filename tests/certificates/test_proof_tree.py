"""Every record of a proof: what it proves, and every way in which it is refused."""

from __future__ import annotations

import itertools
import random

import pytest

from jettison.certificates import proof_tree
from jettison.certificates.certificate_file import Record
from jettison.certificates.derived_rows import cover, rounded
from jettison.certificates.dual_bound import DualBound
from jettison.certificates.errors import CertificateError
from jettison.certificates.integer_model import IntegerModel, Row
from jettison.certificates.proof_tree import ProofTree, TreeSize


def triangle() -> IntegerModel:
    """Return the vertex cover of a triangle: at best b and c, 7; the relaxation says 6."""
    model = IntegerModel()
    a, b, c = (
        model.add_column(name, 0, 1, cost=cost) for name, cost in (("a", 5), ("b", 4), ("c", 3))
    )
    for first, second in ((a, b), (b, c), (a, c)):
        model.at_least(f"edge_{first}_{second}", [first, second], [1, 1], 1)
    return model


def followed(
    lines: list[str], *, model: IntegerModel | None = None, time_ns: int | None = 7, bits: int = 0
) -> TreeSize:
    model = model or triangle()
    to_beat = None if time_ns is None else model.to_beat(time_ns)
    records = [
        Record(number, line.split(" ")[0], line.split(" ")[1:])
        for number, line in enumerate(lines, start=3)
    ]
    return ProofTree(model, bits, to_beat).check(records)


def refusal(lines: list[str], **given: object) -> str:
    with pytest.raises(CertificateError) as caught:
        followed(lines, **given)  # type: ignore[arg-type]
    return str(caught.value)


# Without a: multipliers 4 and 3 on its two edges leave b and c at 0, and 4 + 3 = 7 > 6. With a: 5,
# and 3 on the other edge, 8.
BRANCHED = ["b a 0", "l 0:4 2:3", "l 0 1:3 2"]


def test_a_branch_and_two_leaves_prove_the_optimum_and_nothing_above_it() -> None:
    assert followed(BRANCHED) == TreeSize(derived_rows=0, leaves=2)
    assert "line 4: the leaf proves 7 / 2^0, which does not exceed 7" in refusal(
        BRANCHED, time_ns=8
    )


def test_a_proof_that_changes_too_many_coefficients_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Edges have two coefficients. The first leaf sets two of them, the second one changes three.
    monkeypatch.setattr(proof_tree, "_MOST_WORK", 10)
    assert followed(BRANCHED).leaves == 2
    monkeypatch.setattr(proof_tree, "_MOST_WORK", 9)
    assert "line 5: the proof changes more than 9 coefficients" in refusal(BRANCHED)
    # The combination of two edges touches four.
    monkeypatch.setattr(proof_tree, "_MOST_WORK", 3)
    assert "line 3: the proof changes" in refusal(["G 1 0:1 1:1"])


def test_multipliers_are_scaled() -> None:
    # 7/2 and 7/2 in place of 4 and 3: a is 0, b costs 4 - 7/2, c costs 3 - 7/2 < 0: 7 - 1/2 > 6.
    assert followed(["b a 0", "l 0:7 2:7", "l 0 1:6 2"], bits=1).leaves == 2
    assert "line 4: the leaf proves 12 / 2^1, which does not exceed 6" in refusal(
        ["b a 0", "l 0:7 2:5", "l 0 1:6 2"], bits=1
    )


def test_half_of_all_edges_rounded_up_needs_no_branch() -> None:
    # a + b + c >= 3/2, so 2; times 4 that is 8, and c costs 3 - 4.
    assert followed(["G 2 0:1 1:1 2:1", "l 3:4"]) == TreeSize(derived_rows=1, leaves=1)
    # Without rounding, 2 (a + b + c) >= 3 times 2 is 6, and c costs 3 - 4.
    assert "the leaf proves 5" in refusal(["G 1 0:1 1:1 2:1", "l 3:2"])


def test_a_column_is_fixed_where_the_multipliers_say_so() -> None:
    # Without a the bound is 7: a is 1 at every point with at most 6.
    assert followed(["x 0:4 2:3 | 0=1", "l 0 1:3 2"]).leaves == 1
    assert "line 3: a may be other than 0" in refusal(["x 0:4 2:3 | 0=0", "l 0 1:3 2"])
    assert "line 3: b may be other than 1" in refusal(["x 0:4 2:3 | 1=1", "l 0 1:3 2"])


def test_what_was_fixed_below_a_branch_is_free_beside_it() -> None:
    # In the first subtree c = 0 leaves a and b at 1: fixed by their edges, 9 in all.
    lines = ["b c 0", "x 1:9 2:9 | 0=1 1=1", "l", "l 0:4 1 2"]
    assert followed(lines).leaves == 2
    # Beside it a is 0 or 1 again: with multiplier 5 its edge proves 3 + 5 + (4 - 5) = 7 as well.
    assert followed([*lines[:3], "l 0:5 1 2"]).leaves == 2
    assert "line 6: the leaf proves 3" in refusal([*lines[:3], "l 1 2"])


def test_no_point_at_all_is_proved_by_a_ray() -> None:
    def none() -> IntegerModel:
        model = IntegerModel()
        a, b = (model.add_column(name, 0, 1, cost=1) for name in "ab")
        model.at_least("one", [a, b], [1, 1], 1)
        model.at_most("none", [a, b], [1, 1], 0)
        return model

    assert followed(["f 0:1 1:1"], model=none(), time_ns=None).leaves == 1
    assert followed(["f 0:1 1:1"], model=none(), time_ns=99).leaves == 1
    assert "the leaf proves -1 / 2^0" in refusal(["f 0:1"], model=none(), time_ns=None)
    assert "needs a leaf without points" in refusal(["l 0:1 1:1"], model=none(), time_ns=None)
    assert "no objective by which" in refusal(["x 0:1 | 0=1"], model=none(), time_ns=None)
    # Multipliers of rays are apart from the others.
    assert "the leaf proves 0" in refusal(["b a 0", "l 0:99 1:99", "f"], model=none(), time_ns=3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the tree is not complete"),
        (BRANCHED[:1], "the tree is not complete"),
        (BRANCHED[:2], "the tree is not complete"),
        ([*BRANCHED, "l"], "line 6: the tree was complete before this line"),
        ([*BRANCHED, "G 2 0:1"], "line 6: the tree was complete"),
        (["z"], "line 3: unknown record 'z'"),
        ([""], "line 3: unknown record ''"),
        (["b a"], "names a column and a value"),
        (["b a 0 1"], "names a column and a value"),
        (["b d 0"], "no integer column 'd'"),
        (["b a 1"], "splits nothing"),
        (["b a -1"], "splits nothing"),
        (["b a 0", "b a 0"], "line 4: a lies from 0 to 0 here"),
        (["l 3:1"], "there is no row 3"),
        (["l -1:1"], "there is no row -1"),
        (["l 0:-1"], "edge_0_1 is an inequality; -1 is negative"),
        (["l 0:1 1:1 0:1"], "row 0 is named twice"),
        (["x 0:1 0 | 0=1"], "row 0 is named twice"),
        (["G 1 0:1 0:1"], "a rounding names each of its rows once"),
        (["l 0:1:1"], "is not an integer"),
        (["l 0:+1"], "is not an integer"),
        (["l 00:1"], "is not an integer"),
        (["l 0:1 "], "is not an integer"),
        (["x 0:1 | 9=1"], "no integer column 9"),
        (["x 0:4 2:3 | 0=2"], "it cannot be fixed to 2"),
        (["x 0:4 2:3 | 0=1 0=1"], "a lies from 1 to 1 here"),
        (["b a 0", "G 2 0:1 1:1 2:1"], "rows are derived before the tree begins"),
        (["x 0:1", "G 2 0:1 1:1 2:1"], "rows are derived before the tree begins"),
        (["G"], "'' is not an integer"),
        (["G 0 0:1"], "a row cannot be divided by 0"),
        (["G -2 0:1"], "a row cannot be divided by -2"),
        (["G 2 3:1"], "there is no row 3"),
        (["G 2 0:-1"], "edge_0_1 is an inequality; the weight -1 is negative"),
        (["K 0 1"], "names each of its columns once, and at least one"),
        (["K 9 1 0:1"], "there is no row 9"),
        (["K 0 1 0:1 0:1"], "names each of its columns once"),
        (["K 0 -1 0:1"], "with the right-hand side -1 is not checked"),
        (["K 0 99999999 0:1"], "with the right-hand side 99999999 is not checked"),
        (["K 0 1 0:1"], "a is not a binary column with a positive weight"),
        (["K 0 1 2:1"], "column 2 with the profit 1 is no item of the knapsack edge_0_1"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(lines: list[str], message: str) -> None:
    assert message in refusal(lines)


def knapsack() -> IntegerModel:
    """Return: 4 a + 3 b + 2 c + d <= 6, where d is 0 to 9 and e is continuous; e is worth most."""
    model = IntegerModel()
    a, b, c = (model.add_column(name, 0, 1, cost=-1) for name in "abc")
    d = model.add_column("d", 0, 9)
    model.add_column("e", 0, 1, is_integer=False)
    model.at_most("room", [a, b, c, d], [4, 3, 2, 1], 6)
    model.equal("all", [a, b], [1, 1], 1)
    return model


def test_a_cover_is_accepted_if_the_room_does_not_hold_more_profit() -> None:
    # a and b weigh 7: one of them at most. Times 1 that is -1, a and b cost -1 + 1, and c -1.
    assert followed(["K 0 1 0:1 1:1", "l 2:1"], model=knapsack(), time_ns=-2).leaves == 1
    assert "the leaf proves -2" in refusal(["K 0 1 0:1 1:1", "l 2:1"], model=knapsack(), time_ns=-1)
    # a with c, or b with c, has a profit of 3; a and b have 4 and do not fit.
    assert cover(knapsack(), 0, 3, [(0, 2), (1, 2), (2, 1)]).right == -3
    assert "items of room that weigh 5 of 6 have a profit above 2" in refusal(
        ["K 0 2 0:2 1:2 2:1"], model=knapsack()
    )
    assert "d is not a binary column" in refusal(["K 0 2 3:1"], model=knapsack())
    assert "all is an equation, not a knapsack" in refusal(["K 1 1 0:1"], model=knapsack())
    assert "profit 0 is no item" in refusal(["K 0 1 0"], model=knapsack())
    assert "no integer column 'e'" in refusal(["b e 0"], model=knapsack())


def test_equations_have_multipliers_and_weights_of_either_sign() -> None:
    assert followed(["G 1 1:-1 0:1", "l 1:-2"], model=knapsack(), time_ns=-3).derived_rows == 1


def points_of(model: IntegerModel) -> list[tuple[int, ...]]:
    """Return the integer points of a model, all columns of which are taken as integer."""
    ranges = (range(low, high + 1) for low, high in zip(model.lower, model.upper, strict=True))
    return [
        point
        for point in itertools.product(*ranges)
        if all(holds(row, point) for row in model.rows)
    ]


def holds(row: Row, point: tuple[int, ...]) -> bool:
    left = sum(v * point[j] for j, v in zip(row.columns, row.coefficients, strict=True))
    return left == row.right if row.is_equation else left >= row.right


def random_model(generator: random.Random) -> IntegerModel:
    model = IntegerModel(time_offset_ns=generator.randint(0, 3))
    for number in range(4):
        low = generator.randint(-2, 0)
        high = low + generator.randint(0, 2)
        cost = generator.randint(-4, 6) * 2
        is_integer = generator.random() < 0.8
        model.add_column(f"{number}", low, high, cost=cost, is_integer=is_integer)
    for number in range(generator.randint(1, 4)):
        coefficients = [generator.randint(-4, 4) for _ in range(4)]
        add = model.at_least if generator.random() < 0.8 else model.equal
        add(f"row{number}", range(4), coefficients, generator.randint(-4, 3))
    return model


def test_roundings_hold_at_every_point() -> None:
    generator = random.Random(40)
    tried = 0
    for _ in range(600):
        model = random_model(generator)
        weights = [
            (number, generator.randint(-3 if row.is_equation else 0, 3))
            for number, row in enumerate(model.rows)
        ]
        row = rounded(model, generator.randint(1, 4), weights)
        for point in points_of(model):
            assert holds(row, point)
            tried += 1
    assert tried > 1500


def test_covers_hold_at_every_point_and_what_does_not_is_refused() -> None:
    generator = random.Random(41)
    accepted = refused = 0
    for _ in range(600):
        model = IntegerModel()
        weights = [generator.randint(1, 9) for _ in range(4)]
        items = [model.add_column(f"{k}", 0, 1) for k in range(4)]
        other = model.add_column("other", -1, 2)
        sense = generator.randint(-2, 2)
        model.at_most("room", [*items, other], [*weights, sense], generator.randint(0, 20))
        profits = [(k, generator.randint(1, 3)) for k in items if generator.random() < 0.8]
        most = generator.randint(0, 6)
        points = points_of(model)
        is_true = all(sum(p * point[k] for k, p in profits) <= most for point in points)
        try:
            row = cover(model, 0, most, profits)
        except CertificateError:
            # Without items nothing is accepted; else only what is false at some point.
            assert not is_true or not profits
            refused += 1
            continue
        accepted += 1
        assert all(holds(row, point) for point in points)
    assert min(accepted, refused) > 100


def test_the_bound_holds_at_every_point_and_follows_every_change() -> None:
    generator = random.Random(42)
    for _ in range(200):
        model = random_model(generator)
        lower, upper = list(model.lower), list(model.upper)
        bound = DualBound(model, model.costs, lower, upper)
        for _ in range(6):
            number = generator.randrange(len(model.rows))
            least = -3 if model.rows[number].is_equation else 0
            bound.change([(number, generator.randint(least, 3))])
            column = generator.randrange(4)
            lower[column] = generator.randint(model.lower[column], model.upper[column])
            upper[column] = generator.randint(lower[column], model.upper[column])
            bound.column_changed(column)
            costs = bound.reduced_costs
            least_terms = [min(r * lower[j], r * upper[j]) for j, r in enumerate(costs)]
            for point in points_of(model):
                if all(lower[j] <= point[j] <= upper[j] for j in range(4)):
                    assert sum(map(int.__mul__, model.costs, point)) >= bound.value
            for j in range(4):
                if lower[j] < upper[j]:
                    rest = bound.value - least_terms[j]
                    without = min(costs[j] * (lower[j] + 1), costs[j] * upper[j])
                    assert bound.value_without(j, lower[j]) == rest + without


def test_what_must_be_exceeded_for_a_time() -> None:
    model = IntegerModel(time_offset_ns=100, cost_per_ns=3)
    model.add_column("a", 0, 9, cost=10)
    model.add_column("b", 0, 9, cost=15)
    # Below 108 ns means 107 at most: 3 * 7 = 21, and costs are multiples of 5.
    assert model.to_beat(108) == 20
    model.add_column("c", 0, 9, cost=1, is_integer=False)
    assert model.to_beat(108) == 21
    assert IntegerModel(time_offset_ns=5).to_beat(4) == -2


def test_a_model_refuses_what_is_no_column_and_divides_its_rows() -> None:
    model = IntegerModel()
    with pytest.raises(CertificateError, match="the column x has no value: from 1 to 0"):
        model.add_column("x", 1, 0)
    a = model.add_column("a", 0, 1)
    b = model.add_column("b", 0, 1)
    # 2 a + 2 b - 2 a + 4 a >= 3, so 2 a + b >= 3/2, so 2.
    model.at_least("row", [a, b, a, a], [2, 2, -2, 4], 3)
    assert (model.rows[0].coefficients, model.rows[0].right) == ((2, 1), 2)
