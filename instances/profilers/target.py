"""Target of a profile: a model of the zoo, or the result of a user's function."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import util
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.provenance import Scalar
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.models import MODEL_NAMES, zoo_model

if TYPE_CHECKING:
    from jettison.instances.profilers.shards.jax_step import JaxStep
    from jettison.instances.zoo.workload import Workload

# The extras whose packages a module of one's own may import.
_EXTRAS = {"torch": ("PyTorch", "torch"), "jax": ("JAX", "jax"), "jaxlib": ("JAX", "jax")}


def workload_of(
    target: str,
    *,
    batch: int | None,
    input_shape: tuple[int, ...] | None,
    arguments: Mapping[str, Scalar] = MappingProxyType({}),
    seed: int = 0,
) -> Workload | JaxStep:
    """Return the model, the batch and the loss that a target names.

    Parameters
    ----------
    target
        A name of the zoo, or ``module:function``. The module is looked for in the current folder
        as well. The function takes `arguments`, and returns an ``nn.Sequential``, a model and its
        input, or a model, its input and a loss that maps the model's output to a scalar; or, for
        JAX, a loss, its parameters, and what else it is called with: a tuple of trees. An input
        that it does not return consists of random numbers; it may be a tuple of positional
        arguments or a mapping of keyword arguments. A loss that it does not return is the mean of
        an output that is a tensor, or what another output holds as ``loss``.
    batch, input_shape
        Number of samples and the shape of one. None if the function returns an input.
    arguments
        Arguments of the family in the zoo, or of the function.
    seed
        Seed of weights, inputs and labels.

    Raises
    ------
    MissingExtraError
        If the library that the target needs is not installed.
    InputError
        If there is no such target, the function returns something else, or batch and shape are
        missing, out of range, or contradict the input that it returns.
    """
    if ":" not in target and target not in MODEL_NAMES:
        raise InputError(
            f"{target!r} is not a model of the zoo",
            field="target",
            expected=f"write module:function, or choose from {', '.join(MODEL_NAMES)}",
        )
    if batch is not None and batch < 1:
        raise InputError(f"{batch}", field="batch", expected="write a whole number from 1")
    if ":" in target:
        parts = _called(target, arguments, seed)
        if callable(parts[0]) and not hasattr(parts[0], "state_dict"):
            return _own_step(target, parts, batch, input_shape, arguments)
        return _own_workload(target, parts, batch, input_shape, arguments, seed)
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "profiling a model")
    if batch is None or input_shape is None:
        raise InputError(
            "a model of the zoo needs both of them",
            field="batch and input",
            expected="write for example --batch 2 --input 3x64x64",
        )
    size = zoo_model(target).input_size(input_shape)
    return build(target, batch=batch, input_size=size, seed=seed, **_free_of(arguments))


def code_sha256(target: str) -> str | None:
    """Return the hash of the file that the function of a target is written in; None for the zoo."""
    if ":" not in target:
        return None
    file = getattr(_imported(target.partition(":")[0]), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None


def _free_of(arguments: Mapping[str, Scalar]) -> dict[str, Any]:
    for name in arguments:
        if name in {"name", "batch", "input_size", "seed"}:
            raise InputError(
                f"{name!r} has an option of its own", field="set", expected="use that option"
            )
    return dict(arguments)


def _called(target: str, arguments: Mapping[str, Scalar], seed: int) -> tuple[Any, ...]:
    """Call the user's function and return its results as a tuple."""
    function = _function(target)
    try:
        inspect.signature(function).bind(**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"it cannot be called with the arguments given: {error}",
            field=target,
            expected="write --set name=value for each argument that has no default",
        ) from None
    if util.find_spec("torch") is None:
        found = function(**arguments)
    else:
        import torch

        # Layers draw their weights from the global generator; only the CPU's is touched.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            found = function(**arguments)
    return found if isinstance(found, tuple) and found else (found,)


def _own_step(
    target: str,
    parts: tuple[Any, ...],
    batch: int | None,
    input_shape: tuple[int, ...] | None,
    arguments: Mapping[str, Scalar],
) -> JaxStep:
    if len(parts) != 3 or not isinstance(parts[2], tuple):
        raise InputError(
            f"it returns {len(parts)} values that begin with a function",
            field=target,
            expected="for a step in JAX return (loss, parameters, inputs), the last a tuple",
        )
    for field, asked in (("batch", batch), ("input", input_shape)):
        if asked is not None:
            raise InputError(
                f"{asked} is asked for, and the function returns its inputs",
                field=field,
                expected="leave the option out, and write --set for arguments of the function",
            )
    if util.find_spec("jax") is None:
        raise MissingExtraError("JAX", "jax", "profiling a training step")
    from jettison.instances.profilers.shards.jax_step import JaxStep

    return JaxStep(
        loss=parts[0],
        parameters=parts[1],
        inputs=parts[2],
        model_name=target,
        model_arguments=arguments,
    )


def _own_workload(
    target: str,
    parts: tuple[Any, ...],
    batch: int | None,
    input_shape: tuple[int, ...] | None,
    arguments: Mapping[str, Scalar],
    seed: int,
) -> Workload:
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "profiling a model")
    import torch

    from jettison.instances.zoo.workload import Mean, OwnLoss, Workload

    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], torch.nn.Module):
        kind = type(parts[0] if len(parts) == 1 else parts).__name__
        raise InputError(
            f"it returns a {kind}",
            field=target,
            expected="return an nn.Sequential, (model, input) or (model, input, loss); "
            "for a step in JAX (loss, parameters, inputs)",
        )
    if len(parts) == 1:
        if batch is None or input_shape is None:
            raise InputError(
                "the function returns no input",
                field="batch and input",
                expected="write for example --batch 2 --input 3x64x64, or return (model, input)",
            )
        generator = torch.Generator().manual_seed(seed)
        sample = torch.randn(batch, *input_shape, generator=generator)
    else:
        sample = parts[1]
        _check_sample(target, sample, batch, input_shape)
        # Other mappings of keyword arguments are no trees that tensors can be moved in.
        sample = dict(sample) if isinstance(sample, Mapping) else sample
    loss = parts[2] if len(parts) == 3 else Mean()
    if not callable(loss):
        raise InputError(
            f"its loss is a {type(loss).__name__}",
            field=target,
            expected="return a function that maps the model's output to a scalar",
        )
    return Workload(
        model=parts[0],
        sample_input=sample,
        loss=loss if isinstance(loss, torch.nn.Module) else OwnLoss(loss),
        model_name=target,
        model_arguments={**arguments, "seed": seed},
    )


def _check_sample(
    target: str, sample: Any, batch: int | None, input_shape: tuple[int, ...] | None
) -> None:
    from jettison.instances.zoo.call_arguments import called_with, tensors_in

    tensors = tensors_in(called_with(sample))
    if not tensors or tensors[0].dim() == 0:
        raise InputError(
            f"its input is a {type(sample).__name__} without a first dimension, the batch",
            field=target,
            expected="return (model, input) with one batch as a tensor, a tuple of positional "
            "arguments or a mapping of keyword arguments",
        )
    has = tuple(tensors[0].shape)
    for field, asked, found in (
        ("batch", batch, has[0]),
        ("input", input_shape, has[1:]),
    ):
        if asked is not None and asked != found:
            raise InputError(
                f"{asked} is asked for, and the function returns {found}",
                field=field,
                expected="leave the option out, or return the model alone",
            )


def _function(target: str) -> Callable[..., Any]:
    module_name, _, name = target.partition(":")
    module = _imported(module_name)
    function = getattr(module, name, None)
    if not callable(function):
        offered = [key for key, value in vars(module).items() if callable(value)]
        raise InputError(
            f"{module_name} has no function {name!r}",
            field="target",
            expected=f"choose from {', '.join(key for key in offered if key[0] != '_') or 'none'}",
        )
    return function  # type: ignore[no-any-return]


def _imported(name: str) -> Any:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError) as error:
        absent = getattr(error, "name", None)
        if isinstance(error, ModuleNotFoundError) and absent in _EXTRAS:
            raise MissingExtraError(*_EXTRAS[absent], f"the module {name!r}") from None
        raise InputError(
            f"the module {name!r} cannot be imported: {error}",
            field="target",
            expected="write module:function, the module in this folder or installed",
        ) from error
    finally:
        sys.path.remove(here)
