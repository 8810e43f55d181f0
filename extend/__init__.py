"""The stable API for authors of plugins, interpreters and transformations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.host.hookspec import API_VERSION, hookimpl
from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.extend import api_util as api_util
    from primax.extend import backend as backend
    from primax.extend import call_primitives as call_primitives
    from primax.extend import core as core
    from primax.extend import deprecation as deprecation
    from primax.extend import derive, random
    from primax.extend import dimensions as dimensions
    from primax.extend import drawing as drawing
    from primax.extend import effects as effects
    from primax.extend import ffi as ffi
    from primax.extend import held_programs as held_programs
    from primax.extend import interpreter as interpreter
    from primax.extend import interpreters as interpreters
    from primax.extend import linear_util as linear_util
    from primax.extend import lowering as lowering
    from primax.extend import mlir as mlir
    from primax.extend import programs as programs
    from primax.extend import rule_types as rule_types
    from primax.extend import sharding as sharding
    from primax.extend import source_info_util as source_info_util
    from primax.extend import testing as testing
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, _SUBMODULES, _LATER)
