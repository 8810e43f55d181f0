"""Compiled programs as bytes, which another process can load on a machine of the same kind."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.backend import compile, lower
from primax.extend.backend import devices as _devices
from primax.extend.core import tree
from primax.extend.options import compilation_cache_dir
from primax.extend.provisional.runtime import Executable, load_executable
from primax.plugins.calls.stages import Compiled, flat_arguments

__all__ = ["Loaded", "deserialize_and_load", "serialize"]
__dir__ = __all__.copy


class Loaded:
    """A compiled program that was loaded; call it with arguments of the types it was compiled for."""

    def __init__(self, name: str, in_tree: Any, out_tree: Any, executable: Executable) -> None:
        self.name = name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._executable = executable

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        leaves = flat_arguments(args, kwargs, self.in_tree, self._executable.in_avals, self.name, "compiled for")
        return tree.unflatten(self.out_tree, self._executable(leaves))

    def __repr__(self) -> str:
        return f"<Loaded {self.name}>"


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """Convert a compiled program to bytes; this compiles the program again.

    Args:
      compiled: the result of `jit(f).lower(...).compile()`, for one device.

    Returns:
      The bytes, and the structures of the arguments and of the results: the arguments of `deserialize_and_load`.

    Raises:
      TypeError: `compiled` is not a compiled program.
      ValueError: the program uses several devices, calls Python functions, donates arguments, or has effects.

    >>> import primax as px
    >>> from primax.experimental.serialize_executable import deserialize_and_load, serialize
    >>> stored = serialize(px.jit(lambda x: x + 1.0).lower(1.0).compile())
    >>> deserialize_and_load(*stored)(2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(f"serialize: compiled must be a Compiled, got {compiled!r}")
    executable = compiled._executable
    _require("be for one device", executable.site.mesh is None, f"{len(executable.site.devices)} devices")
    _require("call no Python function", not any(map(bool, executable.keepalives)), f"{compiled.name}, which calls one")
    _require("donate nothing", not any(compiled.donated), f"{compiled.name}, which donates an argument")
    _require("have no effects", not executable.has_tokens, f"{compiled.name}, which has some")
    closed, site = compiled.program.closed, executable.site
    with compilation_cache_dir(None):  # XLA cannot serialize a program that it has loaded
        executable = compile(lower(closed, compiled.target._replace(site=site)))
    parts = {
        "name": compiled.name,
        "in_avals": closed.in_avals,
        "out_avals": closed.out_avals,
        "consts": list(map(np.asarray, executable.consts)),
        "kept": executable.kept,
        "platform": site.platform,
        "executable": site.devices[0].client.serialize_executable(executable.xla),
    }
    return pickle.dumps(parts), compiled.in_tree, compiled.out_tree


def _require(rule: str, holds: bool, got: str) -> None:
    if not holds:
        raise ValueError(f"serialize: compiled must {rule}, got {got}")


def deserialize_and_load(
    serialized: bytes,
    in_tree: object,
    out_tree: Any,
    backend: str | None = None,
    execution_devices: Sequence[Any] | None = None,
) -> Loaded:
    """Load a compiled program.

    Load only bytes that you trust: they hold a pickle, which can run code.

    Args:
      serialized: the bytes that `serialize` returned.
      in_tree: the structure of the arguments that `serialize` returned.
      out_tree: the structure of the results that `serialize` returned.
      backend: the platform to load the program for; by default the one it was compiled for.
      execution_devices: a sequence of one device to run it on; by default the first device of the platform.

    Raises:
      TypeError: `serialized` is not the bytes of a program.
      ValueError: `execution_devices` is not one device.
      XlaError: XLA cannot load the program here.
    """
    if not isinstance(serialized, bytes):
        raise TypeError(f"deserialize_and_load: serialized must be bytes, got {type(serialized).__name__}")
    parts = pickle.loads(serialized)
    devices = list(execution_devices or _devices(backend or parts["platform"])[:1])
    if len(devices) != 1:
        raise ValueError(f"deserialize_and_load: execution_devices must be one device, got {len(devices)}")
    executable = load_executable(
        parts["executable"], devices[0], parts["in_avals"], parts["out_avals"], parts["consts"], parts["kept"]
    )
    return Loaded(parts["name"], in_tree, out_tree, executable)
