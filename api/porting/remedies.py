"""What to use in place of names that JAX has, or had, and primax does not have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

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


def remedy(module: str, name: str) -> str:
    """What takes the place of a name that a module of primax does not have; "" if JAX does not have it either.

    Args:
      module: the name of the module of primax.
      name: the name in this module.
    """
    for counterpart in _modules_of_jax().get(module, ()):
        path = f"{counterpart}.{name}"
        if table().reason(path) is not None or table().is_public(path):
            return table().explain(path)
    return ""
