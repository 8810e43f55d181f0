"""Names of JAX for packages written for it, and replacements of names that primax does not have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from primax.porting.table import public_names, table


@cache
def _modules_of_jax() -> Mapping[str, list[str]]:
    """The public modules of JAX for each module of primax."""
    modules = defaultdict(list)
    for name in {*public_names(), *table().modules}:
        counterpart = table().counterpart(name)
        if counterpart is not None and "._" not in name:
            modules[counterpart].append(name)
    return {module: sorted(names) for module, names in modules.items()}


_SUPPLIED = ("jax.extend", "jax.interpreters", "jax.ffi")


def supply(module: str, name: str) -> Any:
    """The object under a name of JAX that a module of `primax.extend` has, but does not list.

    Args:
      module: the name of the module of primax.
      name: the name in this module.

    Raises:
      LookupError: there is no such object.
    """
    for counterpart in _modules_of_jax().get(module, ()):
        row = table().modules.get(counterpart) if counterpart.startswith(_SUPPLIED) else None
        if row is None:
            continue
        path = row.stand_ins.get(name) or ("" if row.to else row.names.get(name))
        if path:
            owner, _, last = path.rpartition(".")
            return getattr(import_module(owner), last)
    raise LookupError(name)


def remedy(module: str, name: str) -> str:
    """The replacement of a name that a module of primax does not have; "" if JAX does not have it either.

    Args:
      module: the name of the module of primax.
      name: the name in this module.
    """
    for counterpart in _modules_of_jax().get(module, ()):
        path = f"{counterpart}.{name}"
        if table().reason(path) is not None or table().is_public(path):
            return table().explain(path)
    return ""
