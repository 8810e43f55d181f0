"""The families of primitives, each a plugin, and plugins that are registered by hand.

The entry points of primax list the families, and `primax.json` beside this file lists the contents of each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from primax.extend.lazy_names import missing_name
from primax.extend.provisional.records import allow_overrides, register, unregister

__all__ = ["allow_overrides", "register", "rules", "unregister"]


def __getattr__(name: str) -> Any:
    if name == "rules":
        return import_module("primax.extend.commands.matrix").rules
    if not name.startswith("_") and name in __dir__():
        return import_module(f"{__name__}.{name}")
    raise missing_name(__name__, name)


def __dir__() -> list[str]:
    modules = import_module("pkgutil").iter_modules(__path__)  # `import primax` need not wait for pkgutil
    return sorted({*__all__, *(module.name for module in modules)} - {"samples"})


def _repr_html_() -> str:
    """The table of plugins that a notebook shows for this module."""
    return str(import_module("primax.extend.commands.matrix").plugins_html())
