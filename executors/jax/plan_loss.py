"""Plan for a loss in JAX, so that it keeps to an amount of memory when it is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Alpha, Memory, bytes_of, parse_memory
from jettison.instances.profilers.device.rates import parse_rates
from jettison.instances.remat_graph.graph import Graph
from jettison.jax.call_signature import CallSignature
from jettison.jax.checkpointed_loss import CheckpointedLoss
from jettison.jax.compiled_memory import Options, platform_options
from jettison.jax.flat_program import FlatProgram
from jettison.jax.kernel_costs import KernelCosts, MeasuredCosts, RooflineCosts
from jettison.jax.named_program import LoopBodies, NamedProgram
from jettison.jax.policy_plan import PolicyPlan
from jettison.jax.policy_search import PolicySearch
from jettison.jax.step_trace import Differentiation
from jettison.schedules.remat_graph.framework_policy import PolicyTarget, load_policy


def checkpointed(
    loss: Callable[..., Any],
    *sample: Any,
    memory: str | int | Memory | None = None,
    offload_bandwidth: str | int | Link | None = None,
    sample_keywords: Mapping[str, Any] = MappingProxyType({}),
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    static_argnums: int | Sequence[int] = (),
    costs: str = "roofline",
    rates: str = "a100",
    loops: str | None = None,
    policy: str | Path | PolicyPlan | None = None,
    compilations: int = 6,
    time_limit: float | None = 60.0,
    compiler_options: Options | None = None,
) -> CheckpointedLoss:
    """Make a loss keep to an amount of memory when it is differentiated, in the least time.

    Parameters
    ----------
    loss
        A function of arrays that returns a number, or any tree of arrays to be differentiated; not
        a step that takes gradients itself. ``jax.checkpoint`` inside it is replaced by the plan.
    sample
        Arguments, or ``jax.ShapeDtypeStruct`` in their place.
    memory
        Limit of XLA's temporary memory of the loss with its gradient: what a step allocates besides
        its arguments and results. Bytes (``2**30``, ``"1GiB"``) or a share of that of the plain
        step (``"60%"``).
    offload_bandwidth
        Rate of the link to the host in each direction (``"16GB/s"``): values may move there and
        back, beside computations that do not wait for them. None to move nothing. XLA for CPUs has
        one memory: there the limit is one of the model, and `PolicyPlan.holds` is None.
    sample_keywords
        Keyword arguments of arrays.
    argnums, has_aux
        As in ``jax.grad``.
    static_argnums
        Places of arguments that are no arrays; calls must repeat their values.
    costs
        ``roofline``, or ``measured``: each kernel is compiled and run on the default device.
    rates
        Device of the roofline: a name or rates (``14TFLOP/s,900GB/s,3us``).
    loops
        What loops (``jax.lax.scan``) do, ``saved`` or ``checkpointed``; None to try both.
    policy
        A plan, or the file of one, that was made for this loss: nothing is planned. A policy of
        ``jettison export-policy --to jax`` will do as well, for the graph of this loss.
    compilations
        Plans that are compiled at most.
    time_limit
        Seconds after which no other plan is begun.
    compiler_options
        Options of XLA for all that is compiled here; by default that barriers stay on CPUs
        (`jettison.jax.compiled_memory`), and none elsewhere. Give them to ``jax.jit`` as well.

    Returns
    -------
    CheckpointedLoss
        To be called, compiled and differentiated like the loss.

    Raises
    ------
    InputError
        If no plan keeps to the limit (the message has the least memory that was seen), the loss
        cannot be traced, or a plan is for another loss.
    """
    if policy is not None and offload_bandwidth is not None:
        raise InputError(
            "a plan is given, which says what moves",
            field="offload_bandwidth",
            expected="leave it out, or give a limit in place of the plan",
        )
    if (memory is None) == (policy is None):
        raise InputError(
            "both" if policy is not None else "neither is given",
            field="memory, policy",
            expected="give a limit to plan for, or a plan that was made before",
        )
    signature = CallSignature.of(loss, sample, sample_keywords, _places(static_argnums))
    named, tree, results = _traced(signature, has_aux)
    differentiation = Differentiation(_differentiated(signature, named, _places(argnums)), results)
    options = (
        platform_options(jax.default_backend()) if compiler_options is None else compiler_options
    )
    search = PolicySearch(
        named,
        differentiation,
        _costs(costs, rates),
        getattr(loss, "__name__", "loss").strip("<>"),
        options,
        link=None if offload_bandwidth is None else parse_link(offload_bandwidth),
    )
    if policy is not None:
        plan = policy if isinstance(policy, PolicyPlan) else _read_plan(policy, named)
        _check_plan(plan, named, "" if isinstance(policy, PolicyPlan) else str(policy))
        return CheckpointedLoss(signature, tree, search, plan)
    assert memory is not None
    plain_bytes = search.measure(None).temporary_bytes
    limit_bytes = _limit_bytes(memory, plain_bytes)
    plan = search.plan(
        limit_bytes,
        plain_bytes,
        loops=_loop_choices(loops, named),
        compilations=compilations,
        time_limit_s=time_limit,
    )
    return CheckpointedLoss(signature, tree, search, plan)


def traced_graph(
    loss: Callable[..., Any],
    *sample: Any,
    sample_keywords: Mapping[str, Any] = MappingProxyType({}),
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    static_argnums: int | Sequence[int] = (),
    costs: str = "roofline",
    rates: str = "a100",
) -> Graph:
    """Return the graph of a loss with its gradient, for files and for `jettison export-policy`.

    Forward nodes have the names that their values get under `checkpointed`, and loops save what
    their derivatives need. Parameters and errors are those of `checkpointed`.
    """
    signature = CallSignature.of(loss, sample, sample_keywords, _places(static_argnums))
    named, _, results = _traced(signature, has_aux)
    differentiation = Differentiation(_differentiated(signature, named, _places(argnums)), results)
    name = getattr(loss, "__name__", "loss").strip("<>")
    search = PolicySearch(named, differentiation, _costs(costs, rates), name, {})
    return search.graph(LoopBodies.SAVED).graph


def _read_plan(path: str | Path, named: NamedProgram) -> PolicyPlan:
    """Return the plan of a file, which may be one of ``jettison export-policy``."""
    document = read_json(Path(path))
    if isinstance(document, dict) and document.get("kind") == "policy":
        found = load_policy(path)
        if found.target is not PolicyTarget.JAX:
            raise InputError(
                f"a policy for {found.target}",
                field="target",
                source=str(path),
                expected="export one with --to jax",
            )
        return PolicyPlan.of_policy(found, named.program.sha256)
    return PolicyPlan.read(path)


def _traced(signature: CallSignature, has_aux: bool) -> tuple[NamedProgram, Any, tuple[int, ...]]:
    """Return the program, the tree of its results, and the places of those with a gradient."""
    found: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        value = signature.call(leaves)
        if has_aux and not (isinstance(value, tuple) and len(value) == 2):
            raise InputError(
                "the loss returns no pair",
                field="has_aux",
                expected="return the loss and what comes with it, or leave has_aux out",
            )
        results: list[Any]
        results, tree = jax.tree.flatten(value)
        count = len(jax.tree.leaves(value[0])) if has_aux else len(results)
        found.extend((tree, count))
        return results

    try:
        closed = jax.make_jaxpr(flat)(*signature.avals)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise InputError(
            f"the loss cannot be traced: {str(error).splitlines()[0]}",
            field="loss",
            expected="let neither control flow nor shapes depend on values",
        ) from error
    if closed.effects:
        raise InputError(
            f"the loss has effects: {', '.join(sorted(map(str, closed.effects)))}",
            field="loss",
            expected="leave out printing, callbacks and references: they would run twice",
        )
    tree, count = found[-2:]
    program = FlatProgram.of(closed)
    results = tuple(
        place
        for place, value in enumerate(program.results[:count])
        if isinstance(value, int) and _is_inexact(program.avals[value])
    )
    if not results:
        raise InputError(
            "the loss returns no number that has a derivative",
            field="loss",
            expected="return a floating-point number that depends on the arguments",
        )
    return NamedProgram(program), tree, results


def _differentiated(
    signature: CallSignature, named: NamedProgram, argnums: Sequence[int]
) -> tuple[int, ...]:
    places = []
    for number in argnums:
        if number in signature.static or not 0 <= number < signature.num_arguments:
            raise InputError(
                f"{number}, of {signature.num_arguments} arguments",
                field="argnums",
                expected="count the positional arguments from 0, and name no static one",
            )
        places.extend(signature.leaves_of(number))
    values = named.program.arguments
    found = tuple(place for place in places if _is_inexact(named.program.avals[values[place]]))
    if not found:
        raise InputError(
            "no leaf of these arguments is floating-point",
            field="argnums",
            expected="name the arguments that get gradients",
        )
    return found


def _is_inexact(aval: Any) -> bool:
    return bool(jax.numpy.issubdtype(aval.dtype, jax.numpy.inexact))


def _places(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _costs(costs: str, rates: str) -> KernelCosts:
    if costs == "roofline":
        return RooflineCosts(parse_rates(rates))
    if costs == "measured":
        return MeasuredCosts()
    raise InputError(f"{costs!r}", field="costs", expected="write roofline or measured")


def _loop_choices(loops: str | None, named: NamedProgram) -> list[LoopBodies]:
    if loops is not None and loops not in [str(item) for item in LoopBodies]:
        raise InputError(f"{loops!r}", field="loops", expected=f"write {' or '.join(LoopBodies)}")
    if not any(part.is_loop for part in named.loop_parts):
        return [LoopBodies.SAVED]
    return list(LoopBodies) if loops is None else [LoopBodies(loops)]


def _limit_bytes(memory: str | int | Memory, plain_bytes: int) -> int:
    found = parse_memory(memory, lambda: plain_bytes)
    if isinstance(found, Alpha):
        raise InputError(
            str(found), field="memory", expected="write an amount (4GiB) or a share (60%)"
        )
    return bytes_of(found, lambda: plain_bytes)


def _check_plan(plan: PolicyPlan, named: NamedProgram, source: str) -> None:
    if plan.program_sha256 != named.program.sha256:
        raise InputError(
            f"the plan is for another loss, or for other shapes: {plan.program_sha256[:12]}, and "
            f"not {named.program.sha256[:12]}",
            field="program_sha256",
            source=source,
            expected="make a plan for this loss and these arguments",
        )
    unknown = {*plan.saved, *plan.offloaded} - set(named.names.values())
    if unknown:
        raise InputError(
            f"no value has the name {min(unknown)!r}",
            field="saved",
            source=source,
            expected="take the names of a plan for this loss",
        )
