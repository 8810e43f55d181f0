"""Checks of rules by independent computations: finite differences, dot products, loops, NumPy and jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.extend.testing.batching import Mapped, choices, said
from primax.extend.testing.derivatives import central_differences, dot_products
from primax.extend.testing.values import direction, double, is_inexact

__all__ = [
    "assert_close",
    "check_against_jax",
    "check_batch",
    "check_grad",
    "check_jvp",
    "check_transpose",
    "check_values",
    "equations",
]

Function = Callable[..., Any]

_RTOL = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-6,
    "complex64": 2e-6,
    "float16": 2e-3,
    "bfloat16": 2e-2,
}


def _list(outs: Any) -> list[Any]:
    return list(outs) if isinstance(outs, list | tuple) else [outs]


def assert_close(got: Any, want: Any, rtol: float | None = None, what: str = "values") -> None:
    """Two arrays have the same shape and dtype and agree within a tolerance, relative to the largest element."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    if not is_inexact(want):
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    rtol = _RTOL.get(want.dtype.name, 0.2) if rtol is None else rtol
    double = np.complex128 if np.iscomplexobj(want) else np.float64
    got, want = got.astype(double), want.astype(double)
    finite = np.abs(want[np.isfinite(want)])
    scale = finite.max() if finite.size else 0.0
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, err_msg=what)


def check_jvp(fun: Function, *args: Any, rtol: float = 1e-6, step: float = 1e-5) -> None:
    """Tangents agree with central differences, in double precision, for all inexact arguments together.

    Args:
      fun: takes arrays, and returns one or a list of them. It must be smooth near the arguments.
      args: the point; arguments of integer or boolean type are held fixed.
      rtol: the tolerance, relative to the largest tangent.
      step: the step of the differences.
    """
    with px.enable_x64(True):
        args = tuple(map(double, args))
        moving = [i for i, x in enumerate(args) if is_inexact(x)]
        directions = [direction(args[i], i) for i in moving]

        def at(*xs: Any) -> Any:
            full = list(args)
            for i, x in zip(moving, xs, strict=True):
                full[i] = x
            return _list(fun(*full))

        primals = [args[i] for i in moving]
        outs, tangents = px.jvp(at, primals, directions)
        for out, alone in zip(outs, at(*primals), strict=True):
            assert_close(out, alone, 1e-12, "the primal output of jvp")
        above = at(*[x + step * t for x, t in zip(primals, directions, strict=True)])
        below = at(*[x - step * t for x, t in zip(primals, directions, strict=True)])
        for i, (out, tangent) in enumerate(zip(outs, tangents, strict=True)):
            if not is_inexact(out):
                assert np.asarray(tangent).dtype == px.float0, f"the tangent of output {i} must be float0"
                continue
            (slope,) = central_differences([above[i]], [below[i]], step)
            assert_close(tangent, slope.astype(out.dtype), rtol, f"the tangent of output {i}")


def check_transpose(fun: Function, *args: Any, rtol: float = 1e-9) -> None:
    """Cotangents pulled back and tangents pushed forward have the same dot product, in double precision.

    It is checked for all inexact arguments together, and for each alone. The dot product conjugates nothing, and
    real parts are compared, because derivatives of real functions of complex numbers are linear only over the reals.

    Args:
      fun: takes arrays, and returns one or a list of them; if it is not linear, its derivative is checked.
      args: the point; arguments of integer or boolean type are held fixed.
      rtol: the tolerance of the products.
    """
    with px.enable_x64(True):
        args = tuple(map(double, args))
        moving = [i for i, x in enumerate(args) if is_inexact(x)]
        for chosen in [moving, *([i] for i in moving if len(moving) > 1)]:
            _check_dot_product(fun, args, chosen, rtol)


def _check_dot_product(fun: Function, args: tuple[Any, ...], chosen: list[int], rtol: float) -> None:
    def at(*xs: Any) -> Any:
        full = list(args)
        for i, x in zip(chosen, xs, strict=True):
            full[i] = x
        return [y for y in _list(fun(*full)) if px.dtypes.issubdtype(y.dtype, np.inexact)]

    primals = [args[i] for i in chosen]
    directions = [direction(args[i], i) for i in chosen]
    _, tangents = px.jvp(at, primals, directions)
    outs, pull_back = px.vjp(at, *primals)
    cotangents = [direction(np.asarray(out), 100 + i) for i, out in enumerate(outs)]
    pulled = pull_back(cotangents)
    for x, ct in zip(primals, pulled, strict=True):
        assert_close(np.shape(ct), np.shape(x), what="the shape of a cotangent")
        assert np.asarray(ct).dtype == x.dtype, f"a cotangent has dtype {ct.dtype}, expected {x.dtype}"
    forward, backward, size = dot_products(tangents, pulled, cotangents, directions)
    assert abs(forward - backward) <= rtol * size, (
        f"with respect to arguments {chosen}: <ct, J t> is {forward}, <J' ct, t> is {backward}"
    )


def check_grad(fun: Function, *args: Any, order: int = 1, rtol: float = 1e-6, step: float = 1e-5) -> None:
    """`check_jvp` and `check_transpose`, for the function and for its derivatives below the given order."""
    check_jvp(fun, *args, rtol=rtol, step=step)
    check_transpose(fun, *args)
    if order > 1:
        moving = [i for i, x in enumerate(args) if is_inexact(x)]
        directions = [direction(double(args[i]), 50 + i) for i in moving]

        def derivative(*xs: Any) -> Any:
            def at(*ys: Any) -> Any:
                full = list(xs)
                for i, y in zip(moving, ys, strict=True):
                    full[i] = y
                return [y for y in _list(fun(*full)) if px.dtypes.issubdtype(y.dtype, np.inexact)]

            return px.jvp(at, [xs[i] for i in moving], directions)[1]

        check_grad(derivative, *args, order=order - 1, rtol=rtol, step=step)


def _vary(x: Any, k: int) -> Any:
    """The k-th of several values like `x`, with other elements of the same type."""
    x = np.asarray(x)
    if x.ndim:
        return np.roll(x.ravel(), k).reshape(x.shape)
    return (x * (1 + 0.0625 * k)).astype(x.dtype) if is_inexact(x) else x


def check_batch(
    fun: Function,
    *args: Any,
    size: int = 3,
    most: int = 8,
    rtol: float | None = None,
    mapped: Sequence[Sequence[int]] | None = None,
    vary: Callable[[Any, int], Any] = _vary,
) -> None:
    """A function mapped over any of its arguments, along any of their axes, agrees with a loop.

    Args:
      fun: takes arrays, and returns one or a list of them.
      args: the arguments of one element.
      size: the length of the mapped axis.
      most: the number of choices of axes to try for each choice of arguments.
      rtol: the tolerance of the results.
      mapped: the choices of arguments to try; by default all.
      vary: `(arg, k)`, that argument for the k-th element.
    """
    elements = [[np.asarray(vary(x, k)) for x in args] for k in range(size)]
    ranks = {i: np.ndim(x) for i, x in enumerate(args)}
    wheres = choices(ranks, most, mapped)
    results = Mapped(lambda *xs: _list(fun(*xs)), elements, {size: wheres}, x64=px.config.enable_x64)
    loops: dict[tuple[int, ...], Any] = {}
    for where in wheres:
        chosen = tuple(i for i, _ in where)
        if chosen not in loops:
            rows = [[each[i] if i in chosen else x for i, x in enumerate(elements[0])] for each in elements]
            loops[chosen] = [_list(fun(*row)) for row in rows]
        for n, out in enumerate(results[size, where]):
            want = np.stack([np.asarray(element[n]) for element in loops[chosen]])
            assert_close(out, want, rtol, f"output {n}, {said(len(args), where, size)}")


def check_values(fun: Function, reference: Function, *args: Any, rtol: float | None = None) -> None:
    """A function agrees with a NumPy function, and its program promises the types of its results."""
    outs = _list(fun(*args))
    for i, (out, want) in enumerate(zip(outs, _list(reference(*args)), strict=True)):
        assert_close(out, want, rtol, f"output {i}")
    promised = px.make_jaxpr(fun)(*args).out_avals
    for i, (out, aval) in enumerate(zip(outs, promised, strict=True)):
        assert out.aval.strip_weak_type() == aval.strip_weak_type(), f"output {i}: {out.aval}, but traced as {aval}"


def check_against_jax(
    fun: Function, jax_fun: Function, *args: Any, rtol: float | None = None, weak_type: bool = True
) -> None:
    """A function agrees with the function of the same name in jax: values, dtypes and weak types; skips without jax.

    If an argument has 64 bits, both enable 64-bit types.
    """
    jax = pytest.importorskip("jax")
    double = any(isinstance(x, np.ndarray | np.generic) and x.dtype.name in _WIDE for x in args)
    with ExitStack() as stack:
        if double:
            stack.enter_context(px.enable_x64(True))
            stack.enter_context(jax.enable_x64(True))
        outs, wants = _list(fun(*args)), _list(jax_fun(*args))
        for i, (out, want) in enumerate(zip(outs, wants, strict=True)):
            assert_close(out, want, rtol, f"output {i}")
            if weak_type:
                assert out.weak_type == want.weak_type, (
                    f"output {i}: weak_type {out.weak_type}, in jax {want.weak_type}"
                )


_WIDE = frozenset(("int64", "uint64", "float64", "complex128"))


def equations(fun: Function, *args: Any) -> list[str]:
    """The names of the primitives of a function's program, in order, without those of inner programs."""
    return [eqn.primitive.name for eqn in px.make_jaxpr(fun)(*args).jaxpr.eqns]
