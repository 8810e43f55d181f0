"""Comparisons of primax.numpy with jax.numpy: values, dtypes, weak types, and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
from oracle import jax_does

import primax as px
import primax.numpy as pnp

__all__ = ["DTYPES", "agree", "compare", "refuses", "sample"]

DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64")

_TOLERANCE = {"bfloat16": 4e-2, "float16": 4e-3, "float32": 2e-5, "complex64": 4e-5}


def sample(
    dtype: str, shape: tuple[int, ...] = (2, 3), special: bool = False, nonzero: bool = False, seed: int = 0
) -> Any:
    """A NumPy array with positive, negative and (unless `nonzero`) zero elements; infinities and NaN if `special`."""
    if nonzero:
        found = sample(dtype, shape, special, seed=seed)
        return np.where(found == 0, np.ones_like(found), found)
    kind = np.dtype(pnp.result_type(dtype))
    random = np.random.default_rng(seed + sum(shape))
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype.startswith("uint"):
        return random.integers(0, 6, shape).astype(kind)
    if dtype.startswith("int"):
        return random.integers(-4, 5, shape).astype(kind)
    values = np.round(random.normal(size=shape) * 2, 2)
    if dtype.startswith("complex"):
        return (values + 1j * np.round(random.normal(size=shape), 2)).astype(kind)
    if special and values.size > 4:
        values.flat[:5] = (np.nan, np.inf, -np.inf, 0.0, -0.0)
    return values.astype(kind)


def _leaves(tree: Any) -> list[Any]:
    return px.tree.leaves(tree)


def agree(ours: Any, theirs: Any, *, weak: bool = True, rtol: float | None = None) -> None:
    """Assert that two results have the same structure, shapes, dtypes, weak types and values."""
    if isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other, weak=weak, rtol=rtol)
        return
    if not hasattr(theirs, "dtype"):
        assert ours == theirs
        return
    assert isinstance(ours, px.Array), type(ours)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if weak and theirs.dtype != np.bool_:
        assert ours.weak_type == theirs.weak_type
    tolerance = _TOLERANCE.get(ours.dtype.name, 1e-12 if ours.dtype.kind in "fc" else 0) if rtol is None else rtol
    wide = "complex128" if ours.dtype.kind == "c" else "float64"
    np.testing.assert_allclose(
        np.asarray(ours).astype(wide), np.asarray(theirs).astype(wide), rtol=tolerance, atol=tolerance
    )


def _outcomes(library: Any, jit: Any, calls: dict[str, Callable[..., Any]], arrays: list[Any]) -> Any:
    """The results of functions of arrays, all in one program, and the errors of functions that fail."""
    errors: dict[str, Exception] = {}

    def run(*traced: Any) -> Any:
        out = {}
        for name, call in calls.items():
            try:
                out[name] = call(library, *traced)
            except Exception as error:
                errors[name] = error
        return out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jit(run)(*[library.asarray(x) for x in arrays]), errors


def _with_tuples(tree: Any) -> Any:
    """A result of jax, with tuples instead of the lists of an older jax."""
    if jax_does("several arrays come in tuples, from meshgrid, broadcast_arrays and atleast_1d"):
        return tree
    return tuple([_with_tuples(each) for each in tree]) if isinstance(tree, list | tuple) else tree


_REFUSALS = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError)


def compare(
    calls: dict[str, Callable[..., Any]],
    *arrays: Any,
    weak: bool = True,
    rtol: float | None = None,
    loose: dict[str, float] | None = None,
    any_weak: Collection[str] = (),
    tuples: Collection[str] = (),
) -> None:
    """Assert that functions of a library and of arrays give the same results with primax.numpy and with jax.numpy.

    primax must raise an error if and only if jax does. One program for all functions saves compilations.

    Args:
      calls: functions of a module and the arrays, by names for messages.
      arrays: NumPy arrays, or scalars.
      weak: whether to compare weak types.
      rtol: the tolerance; by default that of the dtype.
      loose: other tolerances, by name.
      any_weak: the functions for which weak types are not compared.
      tuples: the functions for which a list from an older jax is a tuple.
    """
    jax = pytest.importorskip("jax")
    jnp = pytest.importorskip("jax.numpy")
    theirs, refused = _outcomes(jnp, jax.jit, calls, list(arrays))
    ours, errors = _outcomes(pnp, px.jit, calls, list(arrays))
    theirs |= {name: _with_tuples(theirs[name]) for name in tuples}
    problems = []
    for name in calls:
        if name in refused:
            if name not in errors:
                problems.append(f"{name}: accepted, jax refuses it: {refused[name]}")
            elif not isinstance(errors[name], _REFUSALS):
                problems.append(f"{name}: {errors[name]!r}, jax says {refused[name]!r}")
        elif name in errors:
            problems.append(f"{name}: refused: {errors[name]!r}")
        else:
            try:
                agree(
                    ours[name],
                    theirs[name],
                    weak=weak and name not in any_weak,
                    rtol=(loose or {}).get(name, rtol),
                )
            except AssertionError as error:
                problems.append(f"{name}: {str(error) or 'differs'}: got {ours[name]!r}, jax {theirs[name]!r}")
    assert not problems, "\n".join(problems)


def refuses(error: type[Exception], message: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Assert that a call raises an error whose text contains a message."""
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert message in str(caught.value), str(caught.value)
