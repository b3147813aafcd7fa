from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.program_file import load_program, save_program
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram

X = TensorOperation(name="x", role=Role.INPUT, primitive="input", subscripts="->ab", shape=(6, 4))


def forward(subscripts: str, shape: tuple[int, ...], *operands: str) -> TensorOperation:
    return TensorOperation(
        name="f",
        role=Role.FORWARD,
        primitive="mul",
        subscripts=subscripts,
        shape=shape,
        operands=operands,
    )


def test_a_merged_dimension_and_its_major_part_share_an_axis_that_must_divide_both() -> None:
    # 6 rows of 4 are seen as 24 numbers: a number of parts divides 6 and 24.
    program = TensorProgram("p", (X, forward("h.->h", (24,), "x")))
    assert program.axes(program.operations[1]) == {"h": 6}


def test_the_axes_of_the_result_come_first() -> None:
    program = TensorProgram("p", (X, forward("ka->ak", (4, 6), "x")))
    assert list(program.axes(program.operations[1])) == ["a", "k"]


@pytest.mark.parametrize(
    "subscripts", ["ab", "ab->abc", "aa->ab", "ab,ab->ab", "a1->ab", "ab->ab->ab"]
)
def test_subscripts_that_do_not_fit_are_refused(subscripts: str) -> None:
    with pytest.raises(InputError, match="subscripts"):
        forward(subscripts, (6, 4), "x")


def test_a_dimension_that_an_operand_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match=r"operations\[1\]\.subscripts"):
        TensorProgram("p", (X, forward("abc->ab", (6, 4), "x")))


def test_an_operation_before_its_operand_is_refused() -> None:
    with pytest.raises(InputError, match="not an operation before"):
        TensorProgram("p", (forward("ab->ab", (6, 4), "x"), X))


def test_an_input_that_reads_is_refused() -> None:
    with pytest.raises(InputError, match="reads 'x'"):
        replace(X, name="y", operands=("x",), subscripts="ab->ab")


def test_a_tensor_without_elements_is_refused() -> None:
    with pytest.raises(InputError, match="empty tensor"):
        replace(X, shape=(6, 0))


def test_a_program_comes_back_from_its_file(tmp_path: Path) -> None:
    program = perceptron(3, 8, 4)
    save_program(program, tmp_path / "p.json")
    again = load_program(tmp_path / "p.json")
    assert again == program
    assert again.provenance == program.provenance


def test_a_file_with_a_field_that_is_not_allowed_names_it(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save_program(perceptron(1, 8, 4), path)
    path.write_text(path.read_text().replace('"flops"', '"work"'))
    with pytest.raises(InputError, match=r"p\.json: operations\["):
        load_program(path)


def test_a_file_whose_subscripts_are_wrong_names_the_operation(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save_program(perceptron(1, 8, 4), path)
    path.write_text(path.read_text().replace("mk,kn->mn", "mk,kn->m"))
    with pytest.raises(InputError, match=r"p\.json: operations\[3\]\.subscripts"):
        load_program(path)
