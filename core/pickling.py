"""Pickles of primax's objects: the version of the format, a public name, which stays when files move, and fields."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

VERSION = 1


def pickled(name: str, *fields: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The result of `__reduce__`: `restore` calls the function at `module:attribute` with the fields."""
    return restore, (VERSION, name, *fields)


def restore(version: int, name: str, *fields: Any) -> Any:
    """The object of a pickle.

    Raises:
      ValueError: the pickle has another version.
    """
    if version != VERSION:
        raise ValueError(
            f"a pickle of {name} has version {version}, and this primax reads version {VERSION}: load it with the "
            "primax that wrote it, and save NumPy arrays and plain containers"
        )
    module, _, attribute = name.partition(":")
    return attrgetter(attribute)(import_module(module))(*fields)
