"""The stable API for authors of plugins, interpreters and transformations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.host.hookspec import API_VERSION, hookimpl
from primax.extend.lazy_names import lazy_names

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
    "Definitions": "primax.extend.definition",
    "Interpreter": "primax.extend.interpreter",
    "Table": "primax.extend.records",
    "decompose": "primax.extend.decomposition",
    "define_primitive": "primax.extend.definition",
    "plugins": "primax.extend.records",
    "replay": "primax.extend.interpreter",
    "to_jax": "primax.extend.transfer",
}

_SUBMODULES = frozenset(
    (
        "api_util",
        "backend",
        "call_primitives",
        "core",
        "deprecation",
        "derive",
        "dimensions",
        "drawing",
        "effects",
        "ffi",
        "held_programs",
        "interpreter",
        "interpreters",
        "linear_util",
        "lowering",
        "mlir",
        "programs",
        "random",
        "rule_types",
        "sharding",
        "source_info_util",
        "testing",
    )
)

__getattr__, __dir__ = lazy_names(__name__, __all__, _SUBMODULES, _LATER)
