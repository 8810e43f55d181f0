"""What primax.numpy and primax.lax offer is what the families and modules behind them have."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from checkout import FAMILIES

import primax as px
import primax.numpy as pnp

# Modules that offer nothing: what others use, and what has a namespace of its own.
INNER = {
    "at",
    "brackets",
    "complexes",
    "dslice",
    "examples",
    "fft",
    "linalg",
    "namespace",
    "operators",
    "programs",
    "promotion",
    "raveling",
    "rows",
    "vectors",
}


def test_what_a_module_says_in_its_all_is_public() -> None:
    offered = ["__array_api_version__", "__array_namespace_info__"]
    for info in pkgutil.iter_modules(pnp.__path__):
        if info.name not in INNER:
            offered += importlib.import_module(f"primax.numpy.{info.name}").__all__
    assert sorted(offered) == sorted(pnp.__all__)
    assert [name for name in offered if not hasattr(pnp, name)] == []


def test_no_module_hides_behind_a_function_of_its_name() -> None:
    modules = {info.name for info in pkgutil.iter_modules(pnp.__path__)}
    assert modules & {*pnp.__all__} == set()


def test_every_public_function_of_the_array_api_says_what_it_does() -> None:
    bare = [
        name
        for name in pnp.__all__
        if type(getattr(pnp, name)).__name__ == "function" and not getattr(pnp, name).__doc__
    ]
    assert bare == []


def test_names_that_jax_has_mean_something_here_too() -> None:
    jnp = pytest.importorskip("jax.numpy")
    unknown = {"empty_like", "dtype", "index_exp", "s_", "minmax", "top_k"} - set(dir(jnp))
    assert [name for name in pnp.__all__ if not hasattr(jnp, name) and name not in unknown] == []


def test_every_operation_of_the_families_that_jax_has_is_in_lax() -> None:
    lax = pytest.importorskip("jax.lax")
    missing = []
    for name in set(FAMILIES) - {"devices"}:
        module = importlib.import_module(f"primax.plugins.{name}")
        offered = getattr(module, "__all__", [])
        missing += [f"{name}.{x}" for x in offered if hasattr(lax, x) and not hasattr(px.lax, x)]
    assert missing == []
