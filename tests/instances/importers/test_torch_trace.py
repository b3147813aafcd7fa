"""Recordings of PyTorch as graphs and chains, by hand and with what is wrong in them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, InputError, RematGraph, solve
from jettison.instances.importers.torch_trace.call_schema import written_arguments
from jettison.instances.importers.torch_trace.module_chain import import_torch_trace_chain
from jettison.instances.importers.torch_trace.sequential_chain import import_sequential_chain
from jettison.instances.importers.torch_trace.step_graph import import_torch_trace_graph
from tests.cli.terminal import Terminal

# Storages of four-byte numbers: the batch 1 (10), a bias 2 (5), a weight 3 (50). addmm makes 4
# (20), relu_ writes it, sum makes 5 (1); ones_like allocates 6 (1) and fills it, expand shows 20 of
# it. threshold_backward makes 7 (20); mm makes 8 (50) and for itself 9 (3), at the
# address of which sum makes 5 numbers then. 8 and 9 are gradients; the optimizer reads 8.
SAMPLES = Path(__file__).parent / "samples"
KINETO, EXECUTION = SAMPLES / "torch-step.kineto.json", SAMPLES / "torch-step.et.json"
SEQUENTIAL = SAMPLES / "torch-sequential.kineto.json"

Change = Callable[[dict[str, Any]], None]


def rewritten(source: Path, target: Path, change: Change) -> Path:
    document = json.loads(source.read_text(encoding="utf-8"))
    change(document)
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


def node(document: dict[str, Any], number: int) -> dict[str, Any]:
    return next(entry for entry in document["nodes"] if entry["id"] == number)


def times_and_sizes(chain: Chain) -> list[tuple[str, int, int, int, int]]:
    return [
        (stage.name, stage.forward_ns, stage.backward_ns, stage.output_bytes, stage.saved_bytes)
        for stage in chain.stages
    ]


def refusal(folder: Path, *, execution: Change | None = None, kineto: Change | None = None) -> str:
    """Return what is said of the sample with a change."""
    files = [
        path if change is None else rewritten(path, folder / path.name, change)
        for path, change in ((KINETO, kineto), (EXECUTION, execution))
    ]
    with pytest.raises(InputError) as caught:
        import_torch_trace_graph(files[0], execution_trace=files[1])
    return str(caught.value)


def test_the_graph_is_worked_out_by_hand() -> None:
    graph = import_torch_trace_graph(KINETO, execution_trace=EXECUTION)
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.inputs, node.workspace_bytes)
        for node in graph.nodes
    ] == [
        ("addmm 1", 700_000, 80, (), 0),
        # A new value in the place of the old one, made from it.
        ("relu_ 2", 50_000, 80, ("addmm 1",), 0),
        ("sum 3", 80_000, 4, ("relu_ 2",), 0),
        # One operator with the two that it calls, and the kernel of the second.
        ("ones_like 4", 5_000, 4, ("sum 3",), 0),
        # The view of 20 numbers is the value of one.
        ("threshold_backward 5", 60_000, 80, ("ones_like 4", "relu_ 2"), 0),
        ("mm 6", 900_000, 200, ("threshold_backward 5",), 12),
        ("sum 7", 40_000, 20, ("threshold_backward 5",), 0),
    ]
    assert next(node.name for node in graph.nodes if node.backward) == "ones_like 4"
    assert [node.name for node in graph.nodes if node.keep] == ["mm 6", "sum 7"]


def test_the_provenance_says_what_was_measured_and_what_is_left_out() -> None:
    graph = import_torch_trace_graph(KINETO, execution_trace=EXECUTION)
    found = graph.provenance
    assert (found.source, found.device, found.device_kind) == ("imported", "Sample GPU", "cuda")
    # The batch and the bias, 15 numbers, and the weight, 50; the optimizer's kernel of 30 us.
    assert "260 bytes that the step reads were there before it" in str(found.note)
    assert graph.resident_bytes == 260
    assert "30000 ns of the step are those of no operator" in str(found.note)


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_torch_trace_chain(KINETO, execution_trace=EXECUTION)
    assert times_and_sizes(chain) == [
        ("Linear_0", 700_000, 940_000, 80, 80),
        ("ReLU_0", 50_000, 60_000, 80, 80),
        # The seed reads the shape of the loss.
        ("loss", 80_000, 5_000, 0, 4),
    ]
    # The scratch of mm; the gradients of parameters are weights. The batch is what no weight is.
    assert [stage.backward_overhead_bytes for stage in chain.stages] == [12, 0, 0]
    assert [stage.weight_bytes for stage in chain.stages] == [220, 0, 0]
    assert chain.input_bytes == 40


def test_what_the_host_makes_where_a_workspace_was_is_not_the_workspace(tmp_path: Path) -> None:
    """The sum reads a number that no operator made, with the storage of mm's workspace."""

    def read_it(document: dict[str, Any]) -> None:
        reader = node(document, 20)
        reader["inputs"].append([110, 9, 0, 1, 4, "cuda:0"])
        reader["input_types"].append("Tensor(float)")
        reader["outputs"] = [[111, 10, 0, 5, 4, "cuda:0"]]
        for number in (22, 23):
            node(document, number)["inputs"] = [[111, 10, 0, 5, 4, "cuda:0"]]
        node(document, 23)["outputs"] = [[111, 10, 0, 5, 4, "cuda:0"]]

    def release(*events: tuple[int, int, int]) -> Change:
        """Return a change that adds events of the allocator: time, address, bytes."""

        def add(document: dict[str, Any]) -> None:
            document["traceEvents"] += [
                {
                    "ph": "i",
                    "name": "[memory]",
                    "tid": 2,
                    "ts": time_us,
                    "args": {"Device Type": 1, "Addr": address, "Bytes": size_bytes},
                }
                for time_us, address, size_bytes in events
            ]

        return add

    execution = rewritten(EXECUTION, tmp_path / "read.et.json", read_it)
    read = ["addmm 1", "relu_ 2", "sum 3", "ones_like 4", "threshold_backward 5"]
    # mm allocates its result (200 bytes) at 512 and its workspace (12) at 1024.
    taken = [(1049, 512, 200), (1052, 1024, 12)]
    whole = rewritten(KINETO, tmp_path / "gone.json", release(*taken, (1054, 1024, -12)))
    graph = import_torch_trace_graph(whole, execution_trace=execution)
    assert [item.name for item in graph.nodes] == [*read, "mm 6", "sum 7"]
    # While it is there, or as long as nobody says that it is not, it is what the sum reads.
    there = rewritten(KINETO, tmp_path / "there.json", release(*taken, (1060, 1024, -12)))
    for kineto in (there, KINETO):
        graph = import_torch_trace_graph(kineto, execution_trace=execution)
        assert [item.name for item in graph.nodes if item.name.startswith("empty")] == ["empty 6"]


def test_compressed_files_are_the_same_instance(tmp_path: Path) -> None:
    files = []
    for path in (KINETO, EXECUTION):
        files.append(tmp_path / f"{path.name}.gz")
        files[-1].write_bytes(gzip.compress(path.read_bytes()))
    graph = import_torch_trace_graph(files[0], execution_trace=files[1])
    assert graph == import_torch_trace_graph(KINETO, execution_trace=EXECUTION)


def test_a_schedule_recomputes_what_the_recording_made_once() -> None:
    graph = import_torch_trace_graph(KINETO, execution_trace=EXECUTION)
    # At mm are 80 of its input, 200 and 12; sum then has 80, 200 and 20, the peak.
    assert graph.store_all_peak_bytes == 300
    result = solve(RematGraph(graph, 300))
    assert result.schedule is not None
    assert result.time_ns == graph.base_time_ns


def test_what_is_made_inside_and_read_later_has_an_operator_of_its_own(tmp_path: Path) -> None:
    def let_the_loss_leave_something(document: dict[str, Any]) -> None:
        # addmm now calls relu_ and gives back another value than what the backward pass reads.
        node(document, 4)["parent"] = 3
        node(document, 3)["outputs"] = [[111, 11, 0, 20, 4, "cuda:0"]]
        node(document, 4)["inputs"] = [[101, 1, 0, 5, 4, "cuda:0"]]
        node(document, 4)["op_schema"] = "aten::relu(Tensor self) -> Tensor"
        node(document, 5)["inputs"] = [[111, 11, 0, 20, 4, "cuda:0"]]

    changed = rewritten(EXECUTION, tmp_path / "step.json", let_the_loss_leave_something)
    graph = import_torch_trace_graph(KINETO, execution_trace=changed)
    assert [node.name for node in graph.nodes][:2] == ["relu_ 1", "sum 2"]
    assert graph.nodes[3].inputs == ("ones_like 3", "relu_ 1")


def test_two_recordings_are_joined_by_their_calls_where_their_numbers_differ(
    tmp_path: Path,
) -> None:
    def count_from_elsewhere(document: dict[str, Any]) -> None:
        for entry in document["nodes"]:
            entry["rf_id"] += 500

    changed = rewritten(EXECUTION, tmp_path / "step.json", count_from_elsewhere)
    graph = import_torch_trace_graph(KINETO, execution_trace=changed)
    assert graph == import_torch_trace_graph(KINETO, execution_trace=EXECUTION)


@pytest.mark.parametrize(
    ("schema", "name", "written"),
    [
        ("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1)", "aten::add_", {0}),
        ("aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out)", "aten::mul", {2}),
        ("aten::_foreach_add_(Tensor(a!)[] self, int[2] x=[0, 1]) -> ()", "aten::f_", {0}),
        ("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", "aten::view", set()),
        ("aten::detach_(Tensor(a!) self) -> Tensor(a!)", "aten::detach_", set()),
        ("c10d::alltoall_base_(Tensor output, Tensor input) -> Work", "c10d::alltoall_base_", {0}),
        ("", "MulBackward0", set()),
    ],
)
def test_schemas_say_what_an_operator_writes(schema: str, name: str, written: set[int]) -> None:
    assert written_arguments(name, schema) == written


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text(KINETO.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(InputError, match=r"cut\.json: not JSON at line .* stop the profiler"):
        import_torch_trace_graph(cut, execution_trace=EXECUTION)


def test_files_in_the_wrong_places_are_refused() -> None:
    with pytest.raises(InputError, match=r"et\.json: traceEvents: there are no events"):
        import_torch_trace_graph(EXECUTION, execution_trace=EXECUTION)
    with pytest.raises(InputError, match=r"kineto\.json: nodes: there are no nodes"):
        import_torch_trace_graph(KINETO, execution_trace=KINETO)


def test_tensors_without_storages_are_refused(tmp_path: Path) -> None:
    def forget(document: dict[str, Any]) -> None:
        node(document, 3)["inputs"][0] = 101

    assert "addmm input 0: the tensor has no number of its storage" in refusal(
        tmp_path, execution=forget
    )


def test_a_recording_without_a_backward_pass_is_refused(tmp_path: Path) -> None:
    def stop_early(document: dict[str, Any]) -> None:
        document["nodes"] = [entry for entry in document["nodes"] if entry["id"] < 9]

    def stop_too(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event["args"].get("External id", 0) < 9
        ]

    message = refusal(tmp_path, execution=stop_early, kineto=stop_too)
    assert "there is no backward pass; record a training step" in message


def test_several_steps_ask_for_a_choice_and_one_of_them_is_read(tmp_path: Path) -> None:
    def mark(document: dict[str, Any]) -> None:
        # The step begins where addmm did; another one ends it before the optimizer.
        for number, name, before in ((2.5, "ProfilerStep#3", 3), (26.5, "ProfilerStep#4", 27)):
            entry = {**node(document, before), "name": name, "id": number, "op_schema": ""}
            entry |= {key: [] for key in entry if key.startswith(("inputs", "input_", "outp"))}
            document["nodes"].append(entry)
        order = sorted({entry["id"] for entry in document["nodes"]})
        for entry in document["nodes"]:
            for key in ("id", "parent"):
                entry[key] = order.index(entry[key]) + 1
            entry["rf_id"] = 1000 + entry["id"]

    assert "steps that are marked: 3, 4; choose one of them (--step)" in refusal(
        tmp_path, execution=mark
    )
    changed = rewritten(EXECUTION, tmp_path / "marked.json", mark)
    graph = import_torch_trace_graph(KINETO, execution_trace=changed, step=3)
    assert graph == import_torch_trace_graph(KINETO, execution_trace=EXECUTION)
    with pytest.raises(InputError, match="there is no backward pass"):
        import_torch_trace_graph(KINETO, execution_trace=changed, step=4)
    with pytest.raises(InputError, match="steps that are marked: 3, 4"):
        import_torch_trace_graph(KINETO, execution_trace=changed, step=7)


def test_a_second_pass_without_a_mark_is_refused(tmp_path: Path) -> None:
    def run_again(document: dict[str, Any]) -> None:
        # The optimizer's addition is differentiated now, by a function that runs later.
        node(document, 27)["name"] = "again"
        node(document, 28)["seq_id"] = 9
        for number in (29, 30):
            twin = {**node(document, number - 19), "id": number, "parent": 9, "rf_id": number}
            document["nodes"].append(twin)
        node(document, 30).update(parent=29, seq_id=9)

    def run_too(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            if event["args"].get("External id") == 27:
                event["name"] = "again"
        calls = [e for e in document["traceEvents"] if e["args"].get("External id") in (10, 11)]
        for event in calls:
            number = event["args"]["External id"] + 19
            arguments = {"External id": number, "Record function id": number}
            document["traceEvents"].append({**event, "args": arguments, "ts": 5000 + number})

    assert "runs after a backward pass, and a later one leads to it" in refusal(
        tmp_path, execution=run_again, kineto=run_too
    )


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (11, {"name": "CheckpointFunctionBackward"}, "the step recomputes"),
        (3, {"kernel_backend": "triton"}, "generated by a compiler"),
        (12, {"parent": 99}, "is inside of node 99, which is not there"),
        (12, {"id": 11}, "11 stands twice"),
        (15, {"rf_id": "x"}, "'x' is not a whole number"),
    ],
)
def test_nodes_that_tell_of_no_plain_step_are_refused(
    tmp_path: Path, number: int, change: dict[str, Any], message: str
) -> None:
    def alter(document: dict[str, Any]) -> None:
        node(document, number).update(change)

    def alter_too(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            if "name" in change and event["args"].get("External id") == number:
                event["name"] = change["name"]

    assert message in refusal(tmp_path, execution=alter, kineto=alter_too)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pid": 8}, "calls of 2 processes"),
        ({"dur": "Infinity"}, "'Infinity' is not a time"),
        ({"name": "aten::elsewhere"}, "thread 1 has no counterpart in the Kineto trace: after 0"),
    ],
)
def test_events_that_tell_of_another_run_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    def alter(document: dict[str, Any]) -> None:
        first = next(e for e in document["traceEvents"] if e["name"] == "aten::addmm")
        first.update(change)

    assert message in refusal(tmp_path, kineto=alter)


def test_kernels_of_captured_graphs_and_of_nobody_are_refused(tmp_path: Path) -> None:
    def capture(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            if event["cat"] == "cuda_runtime":
                event["name"] = "cudaGraphLaunch"

    def forget_the_host(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event["cat"] != "cuda_runtime"
        ]

    assert "record the model without CUDA graphs" in refusal(tmp_path, kineto=capture)
    assert "no launch has its correlation" in refusal(tmp_path, kineto=forget_the_host)


def test_files_of_two_processes_are_refused(tmp_path: Path) -> None:
    assert "one trace is of process 8, the other of 7" in refusal(
        tmp_path, execution=lambda document: document.update(pid=8)
    )


def test_a_chain_asks_for_modules_and_is_refused_where_values_lead_past_them(
    tmp_path: Path,
) -> None:
    def forget_modules(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event["cat"] != "python_function"
        ]

    def read_the_batch_late(document: dict[str, Any]) -> None:
        # The gradient of the weight reads the output of relu_.
        node(document, 18)["inputs"][1] = [104, 4, 0, 20, 4, "cuda:0"]
        node(document, 15)["inputs"][1] = [112, 12, 0, 20, 4, "cuda:0"]
        node(document, 3)["outputs"].append([112, 12, 0, 20, 4, "cuda:0"])
        node(document, 3)["output_types"].append("Tensor(float)")
        node(document, 5)["inputs"].append([112, 12, 0, 20, 4, "cuda:0"])
        node(document, 5)["input_types"].append("Tensor(float)")

    plain = rewritten(KINETO, tmp_path / "plain.json", forget_modules)
    with pytest.raises(InputError, match="no module is recorded; record with with_stack=True"):
        import_torch_trace_chain(plain, execution_trace=EXECUTION)
    changed = rewritten(EXECUTION, tmp_path / "step.json", read_the_batch_late)
    with pytest.raises(InputError, match="at no boundary of modules is the step a chain"):
        import_torch_trace_chain(KINETO, execution_trace=changed)


def test_a_sequential_is_a_chain_without_an_execution_trace() -> None:
    # The same run with shapes; addmm allocates 80 bytes that stay and 16 that do not.
    chain = import_sequential_chain(SEQUENTIAL)
    assert chain.input_bytes == 10 * 4
    assert times_and_sizes(chain) == [
        # The kernels of mm and of the sum; 80 bytes of what is allocated stay.
        ("Linear_0", 700_000, 940_000, 80, 80),
        ("ReLU_0", 50_000, 60_000, 80, 80),
        # The seed is made before the first function of the backward pass.
        ("loss", 85_000, 0, 0, 0),
    ]
    assert [stage.forward_overhead_bytes for stage in chain.stages] == [16, 0, 0]
    assert [stage.weight_bytes for stage in chain.stages] == [220, 0, 0]


def test_what_a_kineto_trace_alone_lacks_is_named(tmp_path: Path) -> None:
    def rename(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            event["name"] = event["name"].replace("Sequential", "ResNet")

    def forget_memory(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event["name"] != "[memory]"
        ]

    def forget_modules(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event["cat"] != "python_function"
        ]

    def forget_shapes(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            event["args"].pop("Input Dims", None)

    def repeat(document: dict[str, Any]) -> None:
        module = next(e for e in document["traceEvents"] if "Sequential" in e["name"])
        document["traceEvents"].append({**module, "ts": 3000})

    for change, message in (
        (rename, "the model is 'ResNet_0' and no Sequential: which tensors"),
        (forget_memory, "no allocation is recorded; record with profile_memory=True"),
        (forget_modules, "no module is recorded; record with with_stack=True"),
        (repeat, "2 steps; record one step"),
        (forget_shapes, "'aten::addmm' has no shapes; record with record_shapes=True"),
    ):
        changed = rewritten(SEQUENTIAL, tmp_path / "step.json", change)
        with pytest.raises(InputError) as caught:
            import_sequential_chain(changed)
        assert message in str(caught.value)
        assert "step.json" in str(caught.value)


def test_the_command_asks_for_the_execution_trace_where_it_needs_it(
    terminal: Terminal, tmp_path: Path
) -> None:
    words = ("import", "torch-trace", str(KINETO))
    code, _, err = terminal.run(*words, "-o", "out.json")
    assert code == 2
    assert "execution_trace: it does not say which tensors an operator reads" in err
    code, _, err = terminal.run(*words, "-x", str(EXECUTION), "--kind", "chain", "-o", "out.json")
    assert code == 0
    assert "chain torch-step, 3 stages" in err
