"""Resolution of JAX's names in the installed primax."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from primax.extend.core import Array
from primax.porting.table import table


def find(path: str) -> ModuleType | Array:
    """The object at a dotted path.

    Raises:
      LookupError: there is no object at the path.
    """
    module, _, name = path.rpartition(".")
    if not module:
        return importlib.import_module(path)
    parent = find(module)
    try:
        return getattr(parent, name)
    except (AttributeError, ImportError):  # modules of primax raise either error for absent names
        submodule = _submodule(path)
    if submodule is None:
        raise LookupError(path)
    return submodule


def _submodule(path: str) -> ModuleType | None:
    """The submodule at a path that is not yet an attribute of its package; None if it does not exist."""
    try:
        exists = importlib.util.find_spec(path) is not None
    except (ModuleNotFoundError, ValueError):  # the parent is not a package
        return None
    return importlib.import_module(path) if exists else None


def candidates(name: str) -> Iterator[str]:
    """The paths at which the counterpart of a name of JAX may be, the best first."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        row = table().modules.get(".".join(parts[:end]))
        if row is not None and end < len(parts) and parts[end] in row.stand_ins:
            yield ".".join([row.stand_ins[parts[end]], *parts[end + 1 :]])
            break
        if row is not None and row.as_jax is not None:
            yield ".".join([row.as_jax, *parts[end:]])
            break
    path = table().counterpart(name)
    if path is not None:
        yield path


def resolve(name: str) -> Any:
    """The counterpart of a name of JAX.

    Raises:
      LookupError: the name has no counterpart.
    """
    for path in candidates(name):
        try:
            return find(path)
        except LookupError:
            continue
    raise LookupError(name)


def is_module(name: str) -> bool:
    """Whether a name of JAX has a counterpart that is a module."""
    if name == "jax" or name == "jax.version":
        return True
    row = table().modules.get(name)
    if row is not None and (row.to or row.as_jax or row.names or row.inert):
        return True
    if any(other.startswith(f"{name}.") and table().modules[other].why is None for other in table().modules):
        return True
    public = bool(table().names_of(name))
    try:
        counterpart = resolve(name)
    except LookupError:
        return public and table().reason(name) is None
    return public or isinstance(counterpart, ModuleType)


def is_ported_module(name: str) -> bool:
    """Whether `primax port` takes a name for a module of JAX, among them those that JAX has removed."""
    if is_module(name):
        return True
    path = table().renamed(name)
    if path is not None:
        return isinstance(find(path), ModuleType)
    row = table().modules.get(name)
    return row is not None and bool(row.renamed) and table().counterpart(name) is None


def ported_path(name: str) -> str | None:
    """The path in primax that replaces a name of JAX; None if it has no counterpart."""
    path = table().renamed(name) or table().counterpart(name)
    if path is None:
        return None
    try:
        find(path)
    except LookupError:
        return None
    return path


def stands_in(name: str) -> bool:
    """Whether a name of JAX exists in the stand-in for JAX."""
    try:
        resolve(name)
    except LookupError:
        return is_module(name) and not table().is_inert(f"{name}.x")
    return True
