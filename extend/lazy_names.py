"""Names of a module that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    module: str,
    public: Collection[str],
    submodules: Collection[str] = (),
    functions: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that imports names when they are first used.

    Args:
      module: the name of the module.
      public: the other names that `dir` lists.
      submodules: the names of submodules.
      functions: for names of other modules, these modules.
    """

    def load(name: str) -> Any:
        if name in functions:
            value = vars(sys.modules[module])[name] = getattr(import_module(functions[name]), name)
            return value
        if name in submodules:
            return import_module(f"{module}.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return load, lambda: sorted({*public, *submodules})
