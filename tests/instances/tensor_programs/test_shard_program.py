from __future__ import annotations

from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.shard_program import followed_operands, shard_program
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram

FOUR = v100_mesh((4,))
WITHIN = FOUR.dimensions[0]


def given(name: str, *shape: int, role: Role = Role.INPUT) -> TensorOperation:
    letters = "abc"[: len(shape)]
    return TensorOperation(
        name=name, role=role, primitive=str(role), subscripts=f"->{letters}", shape=shape
    )


def made(
    name: str, primitive: str, subscripts: str, shape: tuple[int, ...], *operands: str
) -> TensorOperation:
    return TensorOperation(
        name=name,
        role=Role.FORWARD,
        primitive=primitive,
        subscripts=subscripts,
        shape=shape,
        operands=operands,
    )


X, Y, W = given("x", 8, 8), given("y", 8, 8), given("w", 8, 8, role=Role.PARAMETER)
DOT = made("dot", "dot_general", "mk,kn->mn", (8, 8), "x", "w")


def test_an_elementwise_operation_follows_its_deepest_operand() -> None:
    program = TensorProgram("p", (X, Y, W, DOT, made("f", "sub", "ab,ab->ab", (8, 8), "y", "dot")))
    assert followed_operands(program) == {"x": None, "y": None, "w": None, "dot": None, "f": 1}


def test_an_operand_that_is_broadcast_is_not_followed_however_deep_it_is() -> None:
    mean = made("mean", "reduce_sum", "ab->a", (8,), "x")
    centred = made("centred", "sub", "a,ab->ab", (8, 8), "mean", "x")
    program = TensorProgram("p", (X, mean, centred))
    assert followed_operands(program) == {"x": None, "mean": 0, "centred": 1}


def test_a_follower_reads_its_operand_where_it_is() -> None:
    program = TensorProgram("p", (X, Y, W, DOT, made("f", "sub", "ab,ab->ab", (8, 8), "dot", "y")))
    graph = shard_program(program, FOUR, "g")
    follower = graph.operators[4]
    assert follower.follows == "dot"
    # Place by place as the product: rows, columns, and twice copies; names stay apart.
    assert [strategy.name for strategy in follower.strategies] == [
        "S0R=S0RxS0R",
        "RS0=RS0xRS0",
        "RR=RRxRR",
        "RR=RRxRR #3",
    ]
    # From the product to its follower nothing moves; from y, where it is split otherwise.
    assert ("dot", "f") not in {(item.source, item.target) for item in graph.resharding}
    table = graph.tables[1, 4]
    gather, move = WITHIN.all_gather_ns(256), WITHIN.all_to_all_ns(256)
    assert table == ((0, move, gather, gather), (move, 0, gather, gather), (0, 0, 0, 0))


def test_a_reduction_that_follows_adds_up_what_was_split() -> None:
    program = TensorProgram("p", (X, made("total", "reduce_sum", "ab->a", (8,), "x")))
    graph = shard_program(program, FOUR, "g")
    total = graph.operators[1]
    assert [strategy.name for strategy in total.strategies] == ["S0=S0R", "R=RS0", "R=RR"]
    # Eight partial sums of four bytes.
    assert [strategy.communication_ns for strategy in total.strategies] == [
        0,
        WITHIN.all_reduce_ns(32),
        0,
    ]


def test_a_follower_that_does_not_divide_gathers_within_its_group() -> None:
    # 8 x 2 numbers are seen as 2 x 8: four devices split the 8 rows, and not the 2.
    x = given("x", 8, 2)
    program = TensorProgram("p", (x, made("seen", "reshape", "h.->h.", (2, 8), "x")))
    graph = shard_program(program, FOUR, "g")
    assert [strategy.name for strategy in graph.operators[1].strategies] == ["RR=RR", "RR=RR #1"]
    # Places that differ are no choice of one group.
    assert graph.tables[0, 1] == ((WITHIN.all_gather_ns(64), None), (None, 0))


def test_a_value_that_is_read_twice_in_one_form_is_resharded_once() -> None:
    square = made("square", "dot_general", "ab,cb->ac", (8, 8), "x", "x")
    graph = shard_program(TensorProgram("p", (X, square)), FOUR, "g")
    gather, move = WITHIN.all_gather_ns(256), WITHIN.all_to_all_ns(256)
    # Rows and copy, copy and rows, both by columns, copies: of x in rows, in columns, copied.
    assert [strategy.name for strategy in graph.operators[1].strategies] == [
        "S0R=S0RxRR",
        "RS0=RRxS0R",
        "RR=RS0xRS0",
        "RR=RRxRR",
    ]
    assert graph.tables[0, 1] == (
        (gather, gather, move, gather),
        (move + gather, move + gather, 0, gather),
        (0, 0, 0, 0),
    )
    assert graph.operators[1].inputs == ("x",)


def test_an_operation_that_splits_nothing_has_one_strategy_and_needs_copies() -> None:
    sort = made("sorted", "sort", "..->..", (8, 8), "x")
    graph = shard_program(TensorProgram("p", (X, sort)), FOUR, "g")
    assert len(graph.operators[1].strategies) == 1
    gather = WITHIN.all_gather_ns(256)
    assert graph.tables[0, 1] == ((gather,), (gather,), (0,))


def test_a_graph_keeps_roles_scopes_kept_values_and_the_mesh() -> None:
    program = perceptron(2, 8, 8)
    graph = shard_program(program, v100_mesh((2, 4)), "g")
    assert graph.mesh == (2, 4)
    assert [operator.role for operator in graph.operators] == [
        operation.role for operation in program.operations
    ]
    kept = {operator.name for operator in graph.operators if operator.keep}
    assert kept == {"grad_w1", "grad_w2"}


def test_nothing_is_resharded_on_one_device() -> None:
    graph = shard_program(perceptron(2, 8, 8), v100_mesh((1, 1)), "g")
    assert graph.resharding == ()
    assert {len(operator.strategies) for operator in graph.operators} == {1}
