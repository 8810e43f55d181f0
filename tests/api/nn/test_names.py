"""primax.nn has jax.nn's functions, with its parameters, but for products in formats that only accelerators know."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from oracle import lacking

import primax.nn as nn

jax = pytest.importorskip("jax")

ELSEWHERE = {"get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"}


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def test_every_name_is_there() -> None:
    assert public(jax.nn) - ELSEWHERE <= set(nn.__all__)
    assert public(jax.nn.initializers) <= set(nn.initializers.__all__)


@pytest.mark.parametrize("module", ["nn", "nn.initializers"])
def test_parameters_have_the_same_names_in_the_same_order(module: str) -> None:
    ours, theirs = (nn, jax.nn) if module == "nn" else (nn.initializers, jax.nn.initializers)
    different = {}
    for name in (set(ours.__all__) & public(theirs)) - {"Initializer", "initializers"}:
        found, wanted = (list(inspect.signature(getattr(each, name)).parameters) for each in (ours, theirs))
        wanted = [parameter for parameter in wanted if parameter in found or parameter not in lacking(name)]
        if "out_sharding" not in wanted:  # it is new in jax 0.12
            found = [parameter for parameter in found if parameter != "out_sharding"]
        if found != wanted:
            different[name] = (found, wanted)
    assert different == {}


def test_every_function_says_what_it_does() -> None:
    for module in (nn, nn.initializers):
        for name in set(module.__all__) - {"Initializer"}:
            assert inspect.getdoc(getattr(module, name)), name
