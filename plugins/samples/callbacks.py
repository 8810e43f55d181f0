"""Samples of calls to code outside of primax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.ffi import ffi_call_p, vmap_methods
from primax.plugins.callbacks.debug import DebugEffect, OrderedDebugEffect, debug_callback_p
from primax.plugins.callbacks.flat import FlatCallback
from primax.plugins.callbacks.io import io_callback_p
from primax.plugins.callbacks.pure import pure_callback_p

_FIXED = "the types of the results are parameters, which do not follow those of the arguments"
_SKIP = {
    "dtypes": _FIXED,
    "shapes": _FIXED,
    "bad_input": _FIXED,
    "parameters": "they say how often and in which order code is called, which results do not show",
}


def _double(x: Any, y: Any) -> Any:
    return 2 * np.asarray(x) + np.asarray(y)


def _callback(user: str) -> FlatCallback:
    return FlatCallback(_double, user, tree.flatten(((0, 0), {}))[1], tree.flatten(0)[1])


def _sample(args: list[Any], params: dict[str, Any], name: str) -> core.Sample:
    return core.Sample(args, {**params, "result_avals": (core.get_aval(args[0]),)}, name=name, skip=_SKIP)


def _arguments() -> list[Any]:
    return [np.array([1, 2, 3], np.float32), np.array([0.5, 0.25, 0], np.float32)]


def _pure_samples() -> Iterator[core.Sample]:
    for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"):
        yield _sample(_arguments(), {"callback": _callback("pure_callback"), "vmap_method": method}, method)


def _io_samples() -> Iterator[core.Sample]:
    yield _sample(_arguments(), {"callback": _callback("io_callback"), "ordered": False}, "unordered")


def _debug_samples() -> Iterator[core.Sample]:
    callback = FlatCallback(_double, "debug.callback", tree.flatten(((0, 0), {}))[1])
    for effect in (DebugEffect(), OrderedDebugEffect()):
        yield core.Sample(_arguments(), {"callback": callback, "effect": effect}, name=str(effect), skip=_SKIP)


def _ffi_samples() -> Iterator[core.Sample]:
    """Calls of the only foreign function in jaxlib that takes an array and returns nothing."""
    for method in vmap_methods:
        params = {
            "target_name": "dce_sink",
            "result_avals": (),
            "has_side_effect": True,
            "vmap_method": method,
            "input_layouts": ((0,),),
            "output_layouts": (),
            "input_output_aliases": (),
            "custom_call_api_version": 4,
            "legacy_backend_config": None,
            "attributes": (),
        }
        yield core.Sample(_arguments()[:1], params, name=method, skip=_SKIP)


SAMPLES = {
    pure_callback_p: _pure_samples,
    io_callback_p: _io_samples,
    debug_callback_p: _debug_samples,
    ffi_call_p: _ffi_samples,
}
