"""Memory of generated code, on code that is short enough to be counted by hand."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._inductor import ir  # noqa: E402
from torch._inductor.virtualized import V  # noqa: E402

from jettison.torch.compilation.inductor.code_calls import (  # noqa: E402
    BufferLayout,
    library_call,
    rises_bytes,
)
from jettison.torch.compilation.inductor.code_walk import (  # noqa: E402
    library_calls,
    pass_memory,
)
from jettison.torch.compilation.inductor.generated_code import GeneratedCode  # noqa: E402
from jettison.torch.compilation.inductor.step_code import step_memory  # noqa: E402

pytestmark = pytest.mark.torch
CPU = torch.device("cpu")

FORWARD = """
class Runner:
    def call(self, args):
        primals_1, primals_2 = args
        args.clear()
        buf0 = empty_strided_cpu((25, ), (1, ), torch.float32)
        extern_kernels.mm(primals_1, primals_2, out=buf0)
        buf1 = reinterpret_tensor(buf0, (5, 5), (5, 1), 0); del buf0  # reuse
        buf2 = torch.ops.aten.two.default(buf1)
        buf3 = buf2[0]
        buf4 = buf2[1]
        del buf2
        buf5 = empty_strided_cpu((1, ), (1, ), torch.float32)
        cpp_fused_0(buf3, buf5)
        del buf3
        return (buf5, primals_2, buf1, reinterpret_tensor(buf4, (2, ), (1, ), 0), )
"""
BACKWARD = """
class Runner:
    def call(self, args):
        primals_2, view, getitem, tangents_1 = args
        args.clear()
        buf0 = empty_strided_cpu((10, ), (1, ), torch.float32)
        cpp_fused_1(view, tangents_1, buf0)
        del view
        del tangents_1
        buf1 = buf0; del buf0  # reuse
        buf2 = empty_strided_cpu((20, ), (1, ), torch.float32)
        cpp_fused_2(buf1, getitem, buf2)
        del getitem
        return (None, buf2, )
"""
SIZES = {"buf0": 100, "buf2": 0, "buf3": 40, "buf4": 8, "buf5": 4, "primals_2": 1000}
LATER = {"buf0": 40, "buf2": 80, "tangents_1": 4, "view": 100, "getitem": 8}


def forward(text: str = FORWARD) -> Any:
    return GeneratedCode(text, SIZES, is_backward=False)


def backward(text: str = BACKWARD) -> Any:
    return GeneratedCode(text, LATER, is_backward=True)


def peak_bytes(first: Any, second: Any) -> int:
    found = step_memory(first, second, saved=3, device=CPU)
    assert found is not None
    return found.peak_bytes


def test_a_buffer_is_free_when_its_last_name_is() -> None:
    found = pass_memory(forward(), {})
    # 100 under the names buf0 and buf1, results of 40 and 8, and 4 more before the 40 are free.
    assert found.peak_bytes == 152
    loss, weight, kept, part = found.returned
    assert (loss[1], weight, kept[1], part[1]) == (4, None, 100, 8)


def test_saved_values_are_in_memory_until_the_backward_pass_lets_them_go() -> None:
    # The loss (4) and its gradient (4) stay. First 100 + 8 + 40, then 8 + 40 + 80.
    assert peak_bytes(forward(), backward()) == 8 + 148


def test_an_output_that_is_saved_too_is_counted_once_and_stays() -> None:
    shown = FORWARD.replace("return (buf5,", "return (buf1,")
    # The output (100) and its gradient (4) stay; 8 + 40 + 80 beside them.
    assert peak_bytes(forward(shown), backward()) == 104 + 128


def test_code_in_several_partitions_is_not_read() -> None:
    parts = FORWARD.replace("class Runner:", "def partition_0(args):\n    return ()\nclass Runner:")
    assert step_memory(forward(parts), backward(), saved=3, device=CPU) is None
    assert pass_memory(forward("x = 1"), {}) is None


# A pair is there from its call on, beside the argument that goes before it is taken apart.
TAKEN_LATER = """
class Runner:
    def call(self, args):
        x, w = args
        args.clear()
        buf0 = empty_strided_cpu((1, 4, 6, 6), (144, 36, 6, 1), torch.float32)
        buf1 = torch.ops.aten.convolution_backward.default(buf0, x, w, [0], (1, 1), (0, 0), (1, 1),
            False, (0, 0), 1, [True, True, False])
        del buf0
        buf2 = buf1[0]
        buf3 = buf1[1]
        del buf1
        return (buf2, buf3, )
"""


def convolution() -> Any:
    def layout(*size: int) -> BufferLayout:
        strides = torch.empty(size, device="meta").stride()
        return BufferLayout(size, strides, torch.float32, CPU)

    layouts = {"buf0": layout(1, 4, 6, 6), "x": layout(1, 3, 8, 8), "w": layout(4, 3, 3, 3)}
    # In bytes: the gradients of x and w have 192 and 108 numbers.
    sizes = {"buf0": 576, "buf1": 0, "buf2": 768, "buf3": 432, "x": 768, "w": 432}
    return GeneratedCode(TAKEN_LATER, sizes, is_backward=False, layouts=layouts)


def test_results_of_a_call_are_there_before_its_arguments_go() -> None:
    found = pass_memory(convolution(), {})
    assert found.peak_bytes == 576 + 768 + 432
    assert [item[1] for item in found.returned] == [768, 432]


def test_a_library_takes_as_much_as_it_does_when_it_runs() -> None:
    code = convolution()
    (call,) = library_calls(code)
    assert call.operator == "aten.convolution_backward.default"
    (rise,) = rises_bytes([call], CPU).values()
    assert rise >= 768 + 432
    found = pass_memory(code, {}, {call: rise + 1000})
    assert found.peak_bytes == 576 + rise + 1000
    assert rises_bytes([call], torch.device("meta")) == {}


def test_a_call_of_what_is_not_known_is_no_call_of_a_library() -> None:
    layouts = convolution().layouts
    for text in (
        "torch.ops.aten.gone.default(x)",
        "extern_kernels.mm(x, elsewhere)",
        "cpp_fused_0(x)",
        "extern_kernels.mm(x, w, out=elsewhere)",
        "buf0",
    ):
        assert library_call(ast.parse(text, mode="eval").body, layouts) is None
    product = ast.parse("extern_kernels.mm(reinterpret_tensor(x, (8, 24), (24, 1), 0), w, out=w)")
    (line,) = product.body
    assert isinstance(line, ast.Expr)
    call = library_call(line.value, layouts)
    assert call is not None
    assert call.operator == "aten.mm.out"
    assert "(8, 24) of strides (24, 1)" in call.layouts


def test_what_is_written_into_another_buffer_has_no_memory_of_its_own() -> None:
    """A kernel that writes a view has the sizes of the view and the strides of what it views."""
    device, two, one = CPU, [2, 3], [6]
    base = ir.InputBuffer(
        name="base", layout=ir.FixedLayout(device, torch.float32, one, stride=[1])
    )
    viewed = ir.ReinterpretView(
        data=ir.StorageBox(base),
        layout=ir.FixedLayout(device, torch.float32, two, stride=[3, 1]),
    )
    graph = SimpleNamespace(
        mark_buffer_mutated=lambda name: None, graph_inputs={"base": base}, is_backward=True
    )
    with V.set_graph_handler(graph):
        written = ir.InputBuffer(name="written", layout=ir.MutationLayoutSHOULDREMOVE(viewed))
        graph.name_to_buffer = {"written": written}
        code = GeneratedCode.of_present_graph("pass")
    assert code.sizes_bytes == {"base": 24, "written": 0}
    assert code.layouts == {"base": BufferLayout((6,), (1,), torch.float32, CPU)}
