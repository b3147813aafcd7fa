"""Memory of generated code, on code that is short enough to be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.torch.compilation.inductor.code_memory import (
    GeneratedCode,
    pass_memory,
    step_peak_bytes,
)

pytestmark = pytest.mark.torch

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


def test_a_buffer_is_free_when_its_last_name_is() -> None:
    found = pass_memory(forward(), {})
    # 100 under the names buf0 and buf1, results of 40 and 8, and 4 more before the 40 are free.
    assert found.peak_bytes == 152
    loss, weight, kept, part = found.returned
    assert (loss[1], weight, kept[1], part[1]) == (4, None, 100, 8)


def test_saved_values_are_in_memory_until_the_backward_pass_lets_them_go() -> None:
    # The loss (4) and its gradient (4) stay. First 100 + 8 + 40, then 8 + 40 + 80.
    assert step_peak_bytes(forward(), backward(), saved=3) == 8 + 148


def test_an_output_that_is_saved_too_is_counted_once_and_stays() -> None:
    shown = FORWARD.replace("return (buf5,", "return (buf1,")
    # The output (100) and its gradient (4) stay; 8 + 40 + 80 beside them.
    assert step_peak_bytes(forward(shown), backward(), saved=3) == 104 + 128


def test_code_in_several_partitions_is_not_read() -> None:
    parts = FORWARD.replace("class Runner:", "def partition_0(args):\n    return ()\nclass Runner:")
    assert step_peak_bytes(forward(parts), backward(), saved=3) is None
    assert pass_memory(forward("x = 1"), {}) is None
