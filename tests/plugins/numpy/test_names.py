"""What primax.numpy and primax.lax offer is what the families and modules behind them have."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import primax as px
import primax.numpy as pnp
from primax.plugins import numpy as package

# Names that other modules of the package use, or that stand for the class of scalar types.
INTERNAL = {"ScalarType", "getitem", "iterate", "ravel_pytree", "take_slice"}
HELPERS = {
    "at",
    "brackets",
    "complexes",
    "creation",
    "namespace",
    "operators",
    "programs",
    "promotion",
    "raveling",
    "rows",
    "vectors",
}


def test_every_function_of_the_package_is_public() -> None:
    missing = []
    for info in pkgutil.iter_modules(package.__path__):
        if info.name not in HELPERS - {"creation"}:
            module = importlib.import_module(f"primax.plugins.numpy.{info.name}")
            public = getattr(pnp, info.name) if info.name in ("fft", "linalg") else pnp
            missing += [name for name in module.__all__ if name not in INTERNAL and not hasattr(public, name)]
    assert missing == []


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
    for name in set(px.plugins.BUILTIN_FAMILIES) - {"devices"}:
        module = importlib.import_module(f"primax.plugins.{name}")
        offered = getattr(module, "__all__", [])
        missing += [f"{name}.{x}" for x in offered if hasattr(lax, x) and not hasattr(px.lax, x)]
    assert missing == []
