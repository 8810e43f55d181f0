"""The public functions that primax and jax both have, found by walking primax's modules."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import jax

import primax as px

# What authors of plugins use, commands, and what stands in for jax.
INNER = {"as_jax", "core", "extend", "interpreters", "plugins", "porting", "__main__"}
# Types of what functions return, for isinstance and annotations; users do not make them by a call.
NOT_CALLED = frozenset(
    "Array numpy.ndarray stages.Compiled stages.Lowered stages.Traced stages.ArgInfo stages.CompilerOptions "
    "stages.Wrapped sharding.Sharding checking_leaks experimental.checkify.Error "
    "experimental.checkify.ErrorCategory experimental.sparse.JAXSparse experimental.random.StatefulPRNG "
    "export.Exported profiler.ProfileData profiler.ProfileEvent profiler.ProfileOptions profiler.ProfilePlane "
    "profiler.ProfileLine nn.initializers.Initializer "
    "tree_util.PyTreeDef tree_util.KeyPath dtypes.extended dtypes.prng_key custom_derivatives.SymbolicZero "
    "custom_derivatives.CustomVJPPrimal numpy.character numpy.complexfloating numpy.flexible numpy.floating "
    "numpy.generic numpy.inexact numpy.integer numpy.number numpy.object_ numpy.signedinteger "
    "numpy.unsignedinteger".split()
)
# jax refuses these, or needs a package, a library of C or other processes, or its compiler has no such type.
NEVER_IN_JAX = frozenset(
    "export.deserialize numpy.fromfile numpy.fromiter Array.__setitem__ numpy.float6_e3m2fn numpy.float6_e2m3fn "
    "debug.visualize_array_sharding debug.visualize_sharding distributed.initialize "
    "ffi.register_ffi_type ffi.register_ffi_type_id nn.scaled_matmul lax.ragged_all_to_all "
    "lax.pbroadcast".split()
)
# These measure the process, write files and open ports.
PROFILERS = frozenset(
    f"profiler.{name}"
    for name in "device_memory_profile register_subprocess save_device_memory_profile start_server start_trace "
    "stop_server stop_trace trace ProfileSession".split()
)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Pair:
    """A function of both: its path below the two packages, and what it takes."""

    path: str
    function: Callable[..., Any]
    oracle: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]

    @property
    def module(self) -> str:
        """The path without its last part."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@cache
def pairs() -> tuple[Pair, ...]:
    """Each function once, at the first path where it stands, with the methods of arrays and ufuncs."""
    known: set[tuple[int, int]] = set()
    found = []
    for path, mine, other in _members():
        key = (id(mine), id(other))
        is_error = isinstance(mine, type) and issubclass(mine, BaseException)
        if key not in known and path not in NOT_CALLED | NEVER_IN_JAX | PROFILERS and not is_error:
            known.add(key)
            found.append(Pair(path, mine, other, parameters(mine, other, path)))
    return tuple(found)


def _members() -> Iterator[tuple[str, Any, Any]]:
    for name in _modules():
        mine = importlib.import_module(f"primax.{name}".rstrip("."))
        try:
            other = importlib.import_module(f"jax.{name}".rstrip("."))
        except ImportError:
            continue
        yield from _members_of(name, mine, other)
    yield from _members_of("Array", px.Array, type(jax.numpy.zeros(())), dunder=True)


def _modules() -> list[str]:
    walked = pkgutil.walk_packages(px.__path__, "primax.")
    inside = [module.name.removeprefix("primax.") for module in walked]
    return ["", *(name for name in inside if name.split(".")[0] not in INNER)]


def _members_of(path: str, mine: Any, other: Any, dunder: bool = False) -> Iterator[tuple[str, Any, Any]]:
    public = getattr(mine, "__all__", None)
    for name in dir(mine) if public is None else public:
        if (name.startswith("_") and not (dunder and _is_operator(name, mine))) or not hasattr(other, name):
            continue
        here, there = getattr(mine, name), getattr(other, name)
        inner = f"{path}.{name}".lstrip(".")
        if (callable(here) and callable(there)) or isinstance(here, property) or (dunder and not callable(here)):
            yield inner, here, there
        if isinstance(there, ModuleType) != isinstance(here, ModuleType) or isinstance(here, px.numpy.ufunc):
            # A distribution stands as an object here and as a module there; ufuncs are objects in both.
            unary = getattr(here, "nin", 2) == 1  # NumPy's ufuncs of one argument refuse all methods but `at`
            for at, f, g in _members_of(inner, here, there):
                if not isinstance(f, property) and not (unary and not at.endswith(".at")):
                    yield at, f, g


def _is_operator(name: str, owner: type) -> bool:
    return (
        name.startswith("__") and name.endswith("__") and callable(getattr(owner, name)) and not hasattr(object, name)
    )


def parameters(mine: Any, other: Any, path: str) -> tuple[inspect.Parameter, ...]:
    """What a call takes, as primax's signature says, or jax's where that says nothing."""
    if path.startswith("Array.") and not callable(mine):
        return ()
    for function in (mine, other):
        try:
            found = tuple(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            continue
        found = found[1:] if path.startswith("Array.") else found  # without self
        if not found or not all(parameter.kind in VARIADIC for parameter in found):
            return found
    return (inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY),)
