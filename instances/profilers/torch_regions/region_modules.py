"""Modules of a model that become checkpointed regions."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from jettison.instances.core.errors import InputError


def region_modules(model: nn.Module, names: Sequence[str] | None = None) -> dict[str, nn.Module]:
    """Return the modules that become regions, by their paths.

    By default the entries of the outermost ``nn.Sequential`` and ``nn.ModuleList`` that have
    parameters (the layers of a network, as a rule), or else the children of the model.

    Raises
    ------
    InputError
        If a name is no module of the model, or one region is inside another or is given twice.
    """
    if names is None:
        names = _outermost(model)
    found: dict[str, nn.Module] = {}
    modules = dict(model.named_modules())
    for place, name in enumerate(names):
        if name not in modules:
            raise InputError(
                f"the model has no module {name!r}",
                field=f"regions[{place}]",
                expected="give paths of modules, as in model.named_modules()",
            )
        if any(_is_inside(name, other) or _is_inside(other, name) for other in found):
            raise InputError(
                f"{name!r} is inside another region, or has another one inside",
                field=f"regions[{place}]",
                expected="give modules that do not contain one another",
            )
        if modules[name] in found.values():
            raise InputError(
                f"{name!r} is the module of two regions",
                field=f"regions[{place}]",
                expected="give each module once",
            )
        found[name] = modules[name]
    if not found:
        raise InputError(
            "no module is there to become a region",
            field="regions",
            expected="give the paths of modules, as in model.named_modules()",
        )
    return found


def _outermost(model: nn.Module) -> list[str]:
    lists = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Sequential | nn.ModuleList) and len(module) > 1
    ]
    outer = [
        name
        for name in lists
        if not any(other != name and _is_inside(name, other) for other in lists)
    ]
    if not outer:
        outer = [""]
    modules = dict(model.named_modules())
    children = [
        (f"{name}.{child}" if name else child, module)
        for name in outer
        for child, module in modules[name].named_children()
    ]
    return list(
        dict.fromkeys(name for name, module in children if any(True for _ in module.parameters()))
    )


def _is_inside(name: str, other: str) -> bool:
    return name == other or not other or name.startswith(f"{other}.")
