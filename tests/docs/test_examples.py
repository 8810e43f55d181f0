"""Enough functions have an example in their documentation; `pytest --doctest-modules --pyargs primax` runs them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import surface

from primax.numpy import ufunc

SHARE = 0.9
SCIPY = (
    "cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse.linalg spatial.transform special stats"
).split()
SPACES = [
    "primax.lax",
    "primax.lax.linalg",
    "primax.nn",
    "primax.nn.initializers",
    "primax.numpy",
    "primax.numpy.fft",
    "primax.numpy.linalg",
    "primax.random",
    *(f"primax.scipy.{name}" for name in SCIPY),
]


def documented(module: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a namespace that are primax's own; others are documented elsewhere."""
    space = importlib.import_module(module)
    for name in space.__all__:
        value = getattr(space, name)
        if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ufunc):
            yield name, value


def is_own(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("primax")


def lacks_example(value: Any) -> bool:
    return ">>> " not in (value.__doc__ or "")


def test_there_are_functions_to_look_at():
    assert sum(1 for module in SPACES for _ in documented(module)) > 800


@pytest.mark.parametrize("module", SPACES)
def test_most_functions_of_a_namespace_have_an_example(module):
    functions = [(name, value) for name, value in documented(module) if is_own(value) and not inspect.isclass(value)]
    without = [name for name, value in functions if lacks_example(value)]
    assert len(without) <= (1 - SHARE) * len(functions), f"an example is missing in {', '.join(without)}"


@pytest.mark.parametrize("module", ["primax", "primax.ref"])
def test_every_function_of_users_has_an_example(module):
    without = [name for name, value in documented(module) if is_own(value) and lacks_example(value)]
    assert not without


def test_every_promised_name_of_extend_has_an_example():
    names = surface.names_of(provisional=False)
    values = [(f"{module}.{name}", getattr(importlib.import_module(module), name)) for module, name in names]
    own = [each for each in values if is_own(each[1]) and (inspect.isroutine(each[1]) or inspect.isclass(each[1]))]
    without = [path for path, value in own if lacks_example(value)]
    assert not without
