"""`jettison export-policy`: the best policy of a class, for a framework."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jettison.cli.arguments import (
    BandwidthOption,
    CardOption,
    JsonOption,
    ResidentOption,
    checked_output,
)
from jettison.cli.exit_status import ExitStatus
from jettison.cli.export.policy_python import python_text
from jettison.cli.output import print_json, print_pairs
from jettison.cli.posed_problem import check_options, say_what_is_not_recorded
from jettison.cli.profile.command import (
    BatchOption,
    Costs,
    CostsOption,
    InputOption,
    RatesOption,
    SeedOption,
    SetOption,
)
from jettison.cli.profile.model_words import read_arguments, read_shape
from jettison.instances.catalog import load
from jettison.instances.core.card import Card, as_card
from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.json_file import write_text
from jettison.instances.core.link import parse_link
from jettison.instances.core.provenance import Scalar
from jettison.instances.core.units import percent
from jettison.instances.profilers.device.rates import A100, DeviceRates, parse_rates
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.models import MODEL_NAMES
from jettison.schedules.core.schedule_file import load_schedule
from jettison.schedules.remat_graph.framework_policy import Policy, PolicyTarget, save_policy
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_graph.value_names import NamedValues
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_kind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from jettison.solvers.remat_graph.policies.best_saved_calls import NoSavedCalls
    from jettison.solvers.remat_graph.policies.best_saved_values import NoSavedValues


def export_policy(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A graph of a training step (a bundled one or a file), or a model: module:function"
            " or one of the zoo, as `jettison profile` takes them. torch-sac needs a model.",
        ),
    ],
    target: Annotated[
        PolicyTarget, typer.Option("--to", help="The interface that the policy is for.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The policy as JSON (.json), or as Python (.py) that needs PyTorch or JAX only.",
        ),
    ],
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="An amount (4GiB), or a share of the peak (60%)."
        ),
    ] = None,
    card: CardOption = None,
    resident: ResidentOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A schedule of the graph to export as it is, if a policy can express it; by "
            "default the best policy is searched for.",
        ),
    ] = None,
    regions: Annotated[
        list[str] | None,
        typer.Option(
            "--region",
            metavar="MODULE",
            help="For torch-sac: a module that becomes a region, as often as needed; by default "
            "the layers in the outermost Sequential and ModuleList.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="For torchtitan: the name to register.")
    ] = "jettison",
    bandwidth: BandwidthOption = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds of the search.")
    ] = 60.0,
    batch: BatchOption = None,
    input_shape: InputOption = None,
    arguments: SetOption = None,
    seed: SeedOption = 0,
    costs: CostsOption = Costs.MEASURED,
    rates: RatesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the fastest policy of saving and recomputing that a framework can follow.

    torch-sac: eager selective checkpointing of modules, one decision for each operator call.
    joint-graph, torch-knapsack, torchtitan: marks on the nodes of a joint graph, for PyTorch's
    partitioner, for its knapsack hook, and as a memory policy of torchtitan's graph trainer.
    jax: the names that jax.checkpoint saves of a loss, from the graph that
    jettison.jax.traced_graph makes of it, or from one whose nodes have the names that
    checkpoint_name gives to their values. With --bandwidth, values may move to the host and back,
    beside computations that do not wait for them.
    With --card, weights, gradients, states and the context of CUDA are subtracted from its memory.
    Time and peak are those of a step that follows the policy, by the replay. If the time limit ends
    the search, the best policy so far is written, and the exit status is 4.

    Examples: jettison export-policy small:build --memory 80% --to torch-sac -o sac.py;
    jettison export-policy gpt2-tiny-graph-b4-64-cpu --memory 80% --to joint-graph -o joint.py;
    jettison export-policy gpt2-tiny-graph-b4-64-cpu --memory 80% --to torch-knapsack -o hook.py;
    jettison export-policy gpt2-tiny-graph-b4-64-cpu --memory 80% --to torchtitan -o titan.py;
    jettison export-policy step.json --memory 75% --to jax -o policy.py
    """
    checked_output(output)
    if output.suffix not in {".json", ".py"}:
        raise InputError(
            f"{output.name!r}", field="output", expected="write a name that ends in .json or .py"
        )
    amount = _amount(memory, card, resident)
    options = SolveOptions(time_limit_s=time_limit, seed=seed)
    is_model = ":" in source or source in MODEL_NAMES
    if target is not PolicyTarget.TORCH_SAC and regions:
        raise InputError(
            f"{target} has no regions", field="region", expected="leave it out, or use torch-sac"
        )
    if plan is not None and (is_model or target is PolicyTarget.TORCH_SAC):
        raise InputError(
            "a plan is of a graph",
            field="plan",
            expected="give the graph that it was made for, and a target other than torch-sac",
        )
    if target is PolicyTarget.JAX and is_model:
        raise InputError(
            f"{source!r} is not a graph",
            field="source",
            expected="save what `jettison.jax.traced_graph(loss, *arguments)` returns, and give "
            "its file",
        )
    if bandwidth is not None and (target is not PolicyTarget.JAX or plan is not None):
        raise InputError(
            "only the best policy for jax moves values to the host",
            field="bandwidth",
            expected="write --to jax without a plan, or leave it out",
        )
    model = None
    if is_model:
        if rates is not None and costs is Costs.MEASURED:
            raise InputError(
                f"{rates} is given, and durations are measured",
                field="rates",
                expected="write --costs roofline as well, or leave --rates out",
            )
        shape = None if input_shape is None else read_shape(input_shape)
        known = None if costs is Costs.MEASURED else (parse_rates(rates) if rates else A100)
        model = _Model(source, batch, shape, read_arguments(arguments or []), seed, known)
    problem, found = (
        _sac(source, model, amount, regions, options)
        if target is PolicyTarget.TORCH_SAC
        else _joint(source, model, amount, target, plan, output, bandwidth, options)
    )
    if not isinstance(found, Policy):
        status = ExitStatus.INFEASIBLE if found.is_proved else ExitStatus.NO_SCHEDULE
        fits = "no policy fits" if found.is_proved else "no policy was found that fits"
        on_card = as_card(problem.memory)
        if on_card is None:
            enough = f"{found.enough_bytes} bytes are enough"
        else:
            enough = f"a card of {on_card.with_plan(found.enough_bytes)} bytes is enough"
        sys.stderr.write(f"{fits}; {enough}\n")
        raise typer.Exit(status)
    if output.suffix == ".py":
        write_text(python_text(found, name), output)
    else:
        save_policy(found, output)
    _show(found, problem, as_json=as_json)
    sys.stderr.write(f"wrote {output}\n")
    if not found.is_settled:
        raise typer.Exit(ExitStatus.LIMIT_WITH_SCHEDULE)


def _amount(memory: str | None, card: str | None, resident: str | None) -> str | Card:
    """Return what --memory says, or what is left of a card."""
    check_options(find_kind("remat-graph"), Resources(memory, card=card, resident=resident))
    if card is not None:
        return Card(card, resident)
    assert memory is not None
    return memory


class _Model:
    """A model of the command line, with the source of the durations of its operators."""

    def __init__(
        self,
        target: str,
        batch: int | None,
        shape: tuple[int, ...] | None,
        arguments: dict[str, Scalar],
        seed: int,
        rates: DeviceRates | None,
    ) -> None:
        if util.find_spec("torch") is None:
            raise MissingExtraError("PyTorch", "torch", "tracing a model")
        from jettison.instances.profilers.target import workload_of
        from jettison.instances.profilers.torch_graphs.operator_cost import (
            Measured,
            OperatorCost,
            Roofline,
        )
        from jettison.instances.zoo.workload import Workload

        workload = workload_of(
            target, batch=batch, input_shape=shape, arguments=arguments, seed=seed
        )
        if not isinstance(workload, Workload):
            raise InputError(
                "it returns a step in JAX", field=target, expected="return a model of PyTorch"
            )
        self.workload = workload
        self.cost: OperatorCost = (
            Measured(workload.sample_input.device, warmup=2, repeats=7)
            if rates is None
            else Roofline(rates)
        )


def _sac(
    source: str,
    model: _Model | None,
    amount: str | Card,
    regions: list[str] | None,
    options: SolveOptions,
) -> tuple[RematGraph, Policy | NoSavedCalls]:
    if model is None:
        raise InputError(
            f"{source!r} is not a model, and a graph does not say which calls are of which module",
            field="source",
            expected="write module:function, as for `jettison profile`",
        )
    from jettison.instances.profilers.torch_regions.traced_regions import trace_regions
    from jettison.instances.zoo.workload import TrainingStep
    from jettison.solvers.remat_graph.policies.best_saved_calls import (
        NoSavedCalls,
        best_saved_calls,
    )
    from jettison.solvers.remat_graph.policies.saved_calls_policy import saved_calls_policy

    workload = model.workload
    step = TrainingStep(workload.model, workload.loss).train(workload.model.training)
    traced = trace_regions(
        step, (workload.sample_input,), model.cost, model=workload.model, regions=regions
    )
    problem = RematGraph(traced.graph, amount)
    say_what_is_not_recorded(problem)
    choice = best_saved_calls(traced, problem.memory_bytes, options)
    if isinstance(choice, NoSavedCalls):
        return problem, choice
    return problem, saved_calls_policy(choice, options)


def _joint(
    source: str,
    model: _Model | None,
    amount: str | Card,
    target: PolicyTarget,
    plan: Path | None,
    output: Path,
    bandwidth: str | None,
    options: SolveOptions,
) -> tuple[RematGraph, Policy | NoSavedValues]:
    if model is None:
        graph = load(source)
        if not isinstance(graph, Graph):
            raise InputError(
                f"a {graph.kind}",
                field="source",
                expected="give a graph of a training step, or a model",
            )
    else:
        from jettison.instances.profilers.torch_graphs.traced_graph import profile_graph

        workload = model.workload
        graph = profile_graph(
            workload.model,
            workload.sample_input,
            name=f"step-of-{workload.model_name}",
            model_name=workload.model_name,
            model_arguments=workload.model_arguments,
            loss=workload.loss,
            cost=model.cost,
        )
    # Solvers load when they are used: `verify` runs without them.
    from jettison.solvers.remat_graph.policies.named_values_policy import named_values_policy
    from jettison.solvers.remat_graph.policies.once_again_policy import once_again_policy

    problem = RematGraph(graph, amount)
    say_what_is_not_recorded(problem)
    given = None if plan is None else load_schedule(plan, graph)
    assert given is None or isinstance(given, GraphSchedule)
    if target is PolicyTarget.JAX:
        if output.suffix == ".py" and NamedValues.of(graph).has_loops:
            raise InputError(
                "a forward node is a loop, which one jax.checkpoint would run again as a whole",
                field="output",
                expected="write a .json file, and give it to `jettison.jax.checkpointed`",
            )
        link = None if bandwidth is None else parse_link(bandwidth)
        return problem, named_values_policy(problem, options, given, link)
    return problem, once_again_policy(problem, target, options, given)


def _show(policy: Policy, problem: RematGraph, *, as_json: bool) -> None:
    if as_json:
        print_json(policy.to_json())
        return
    base = policy.base_time_ns
    card = as_card(problem.memory)
    of_card = []
    if card is not None:
        of_card = [
            ("card", f"{card.card_bytes} bytes"),
            ("resident", f"{card.resident_bytes} bytes"),
            ("peak of the card", f"{card.with_plan(policy.peak_bytes)} bytes"),
        ]
    saved = sum(len(region.saved) for region in policy.regions)
    print_pairs(
        [
            ("target", str(policy.target)),
            ("class", str(policy.target.policy_class)),
            ("memory", f"{policy.memory_bytes} bytes"),
            ("peak", f"{policy.peak_bytes} bytes"),
            *of_card,
            ("time", f"{policy.time_ns} ns"),
            ("overhead", percent(policy.overhead)),
            *(
                (f"bound, {bound.valid_for}", percent(bound.time_ns / base - 1 if base else None))
                for bound in policy.bounds
            ),
            (
                ("saved calls", str(saved))
                if policy.regions
                else ("run again", str(sum(policy.decisions.values())))
            ),
            *([("on the host", str(len(policy.offloaded)))] if policy.offloaded else []),
        ]
    )
