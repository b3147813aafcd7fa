from __future__ import annotations

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.fold_views import fold_views
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram


def made(
    name: str,
    primitive: str,
    subscripts: str,
    shape: tuple[int, ...],
    *operands: str,
    keep: bool = False,
) -> TensorOperation:
    return TensorOperation(
        name=name,
        role=Role.FORWARD if operands else Role.INPUT,
        primitive=primitive,
        subscripts=subscripts,
        shape=shape,
        operands=operands,
        keep=keep,
    )


X = made("x", "input", "->ab", (6, 4))


def folded(*operations: TensorOperation) -> dict[str, tuple[tuple[str, ...], str]]:
    program = fold_views(TensorProgram("p", operations))
    return {item.name: (item.operands, item.subscripts) for item in program.operations}


def test_a_product_reads_a_matrix_as_it_lies() -> None:
    turned = made("t", "transpose", "ab->ba", (4, 6), "x")
    dot = made("dot", "dot_general", "mk,kn->mn", (6, 6), "x", "t", keep=True)
    assert folded(X, turned, dot)["dot"] == (("x", "x"), "mk,nk->mn")


def test_a_broadcast_is_read_as_what_it_repeats() -> None:
    bias = made("bias", "input", "->a", (4,))
    wide = made("wide", "broadcast_in_dim", "b->ab", (6, 4), "bias")
    total = made("total", "add", "ab,ab->ab", (6, 4), "x", "wide", keep=True)
    assert folded(X, bias, wide, total)["total"] == (("x", "bias"), "ab,b->ab")


def test_chains_of_views_fold_to_their_beginning() -> None:
    turned = made("t", "transpose", "ab->ba", (4, 6), "x")
    again = made("u", "transpose", "ab->ba", (6, 4), "t")
    root = made("root", "sqrt", "ab->ab", (6, 4), "u", keep=True)
    assert folded(X, turned, again, root) == {"x": ((), "->ab"), "root": (("x",), "ab->ab")}


def test_the_major_part_of_a_split_dimension_stands_for_the_whole() -> None:
    # 6 rows of 4 = 2 heads of 2: a product over heads reads the matrix, whose minor part it can
    # no longer split.
    heads = made("heads", "reshape", "ah->ah.", (6, 2, 2), "x")
    scores = made("scores", "dot_general", "qhd,khd->hqk", (2, 6, 6), "heads", "heads", keep=True)
    found = folded(X, heads, scores)
    assert found["scores"] == (("x", "x"), "qh,kh->hqk")
    program = fold_views(TensorProgram("p", (X, heads, scores)))
    # The heads of the result still say that two parts are the most.
    assert program.axes(program.operations[-1])["h"] == 2


def test_a_view_stays_where_its_reader_could_be_divided_as_it_could_not_before() -> None:
    # The sum over heads forgets that there are two of them: four devices would split 4 columns.
    heads = made("heads", "reshape", "ah->ah.", (6, 2, 2), "x")
    total = made("total", "reduce_sum", "ah.->a", (6,), "heads", keep=True)
    assert folded(X, heads, total)["total"] == (("heads",), "ah.->a")


def test_a_view_stays_where_its_reader_would_lose_an_axis() -> None:
    wide = made("wide", "broadcast_in_dim", "ab->abc", (6, 4, 8), "x")
    total = made("total", "reduce_sum", "abc->ab", (6, 4), "wide", keep=True)
    assert folded(X, wide, total)["total"] == (("wide",), "abc->ab")


def test_what_a_kept_view_shows_is_kept_instead() -> None:
    root = made("root", "sqrt", "ab->ab", (6, 4), "x")
    turned = made("t", "transpose", "ab->ba", (4, 6), "root", keep=True)
    program = fold_views(TensorProgram("p", (X, root, turned)))
    assert [(item.name, item.keep) for item in program.operations] == [("x", False), ("root", True)]


def test_a_kept_view_of_an_input_and_a_kept_broadcast_stay() -> None:
    turned = made("t", "transpose", "ab->ba", (4, 6), "x", keep=True)
    root = made("root", "sqrt", "ab->ab", (6, 4), "x")
    wide = made("wide", "broadcast_in_dim", "ab->abc", (6, 4, 8), "root", keep=True)
    program = fold_views(TensorProgram("p", (X, turned, root, wide)))
    assert [(item.name, item.keep) for item in program.operations] == [
        ("x", False),
        ("t", True),
        ("root", False),
        ("wide", True),
    ]
