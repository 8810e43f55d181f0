"""The stable API for authors of plugins, interpreters and transformations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.extend.host.hookspec import API_VERSION, hookimpl

if TYPE_CHECKING:
    from primax.extend import derive, random
    from primax.extend.decomposition import decompose
    from primax.extend.definition import Definitions, define_primitive
    from primax.extend.interpreter import Interpreter, replay
    from primax.extend.records import Table, plugins
    from primax.extend.transfer import to_jax

__all__ = [
    "API_VERSION",
    "Definitions",
    "Interpreter",
    "Table",
    "decompose",
    "define_primitive",
    "derive",
    "hookimpl",
    "plugins",
    "random",
    "replay",
    "to_jax",
]

_LATER = {
    "Definitions": "definition",
    "Interpreter": "interpreter",
    "Table": "records",
    "decompose": "decomposition",
    "define_primitive": "definition",
    "plugins": "records",
    "replay": "interpreter",
    "to_jax": "transfer",
}


_SUBMODULES = frozenset(
    (
        "api_util",
        "backend",
        "core",
        "derive",
        "effects",
        "ffi",
        "interpreters",
        "linear_util",
        "lowering",
        "mlir",
        "random",
        "sharding",
        "source_info_util",
        "testing",
    )
)


def __getattr__(name: str) -> Any:
    """Import submodules, and names that most programs do not need, at their first use."""
    if name in _LATER:
        return getattr(import_module(f"primax.extend.{_LATER[name]}"), name)
    if name in _SUBMODULES:
        return import_module(f"primax.extend.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
