"""Solutions of equations, differentiated by what the equations say and not by how they were solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.interpreters import ad
from primax.extend.transformations import jvp, linear_transpose, linearize
from primax.plugins.arithmetic import neg, sub
from primax.plugins.custom_derivatives.closures import closure_convert
from primax.plugins.custom_derivatives.custom_jvp import custom_jvp
from primax.plugins.custom_derivatives.linear import linear_call_by

__all__ = ["custom_linear_solve", "custom_root"]

Function = Callable[..., Any]


def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Function,
    transpose_solve: Function | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve the linear equation `matvec(x) = b`, and differentiate the solution implicitly.

    Its derivative solves the same equation: with A for `matvec`, A dx = db - dA x. In reverse mode the transposed
    equation is solved.

    Args:
      matvec: a linear function from arrays in any containers to the same structure; it may close over values that
        are differentiated.
      b: the right-hand side.
      solve: `(matvec, b) -> x`; it need not be differentiable.
      transpose_solve: `(vecmat, ct) -> x`, which solves the transposed equation; needed for reverse mode unless
        `symmetric`.
      symmetric: whether `matvec` is its own transpose, so that `solve` solves both.
      has_aux: whether `solve` and `transpose_solve` return a pair of the solution and further results, which are not
        differentiated.

    Returns:
      The solution, or a pair of it and the further results.

    Raises:
      TypeError: an argument is no function, or the solution is not of the type of `b`; in reverse mode, there is no
        `transpose_solve`.

    >>> import primax as px
    >>> def half(b):
    ...     return px.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: b / 2.0, symmetric=True)
    >>> float(half(3.0)), float(px.grad(half)(3.0))
    (1.5, 0.5)
    """
    for name, given in (("matvec", matvec), ("solve", solve)):
        _require_function("custom_linear_solve", name, given)
    converted, consts = closure_convert(matvec, b)
    b_like = tree.tree_map(_struct, b)

    def of(consts: Any) -> Function:
        return lambda x: converted(x, *consts)

    def without_aux(solver: Function, fun: Function, rhs: Any) -> Any:
        return solver(fun, rhs)[0] if has_aux else solver(fun, rhs)

    def forward(consts: Any, rhs: Any) -> Any:
        return without_aux(solve, of(consts), rhs)

    def backward(consts: Any, ct: Any) -> Any:
        """The solution of the transposed equation, as implicit as that of the equation."""
        if symmetric:
            return solution(consts, ct)

        def vecmat(y: Any, consts: Any) -> Any:
            return linear_transpose(of(consts), b_like)(y)[0]

        return custom_linear_solve(lambda y: vecmat(y, consts), ct, transpose_solve, solve, has_aux=has_aux)

    @custom_jvp
    def solution(consts: Any, rhs: Any) -> Any:
        reversible = symmetric or transpose_solve is not None
        return linear_call_by(forward, backward if reversible else None, consts, rhs)

    @custom_jvp
    def solution_and_aux(consts: Any, rhs: Any) -> Any:
        return solve(of(consts), rhs)

    def tangent(consts: Any, consts_dot: Any, x: Any, rhs_dot: Any) -> Any:
        if consts:
            change = jvp(lambda cs: converted(x, *cs), (consts,), (consts_dot,))[1]
            rhs_dot = tree.tree_map(sub, rhs_dot, change)
        return solution(consts, rhs_dot)

    @solution.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (consts, rhs), (consts_dot, rhs_dot) = primals, tangents
        x = solution(consts, rhs)
        return x, tangent(consts, consts_dot, x, rhs_dot)

    @solution_and_aux.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (consts, rhs), (consts_dot, rhs_dot) = primals, tangents
        x, aux = solution_and_aux(consts, rhs)
        return (x, aux), (tangent(consts, consts_dot, x, rhs_dot), _no_tangents(aux))

    return (solution_and_aux if has_aux else solution)(consts, b)


def custom_root(
    f: Function, initial_guess: Any, solve: Function, tangent_solve: Function, has_aux: bool = False
) -> Any:
    """Find a root of `f`, and differentiate it by the implicit function theorem.

    With a root x of f(x, a), which closes over a: df/dx dx = - df/da da.

    Args:
      f: from arrays in any containers to the same structure; it may close over values that are differentiated.
      initial_guess: where `solve` begins; the root does not depend on it.
      solve: `(f, initial_guess) -> root`; it need not be differentiable.
      tangent_solve: `(g, y) -> x`, which solves g(x) = y for a linear function g; it must be linear in y, and for
        reverse mode have a transpose, as `custom_linear_solve` has.
      has_aux: whether `solve` returns a pair of the root and further results, which are not differentiated.

    Returns:
      The root, or a pair of it and the further results.

    Raises:
      TypeError: an argument is no function.

    >>> import primax as px
    >>> def newton(f, x):
    ...     step = lambda _, x: x - f(x) / px.grad(f)(x)
    ...     return px.lax.fori_loop(0, 10, step, x)
    >>> def root(a):
    ...     return px.lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))
    >>> round(float(root(2.0)), 4), round(float(px.grad(root)(2.0)), 4)
    (1.4142, 0.3536)
    """
    for name, given in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        _require_function("custom_root", name, given)
    converted, consts = closure_convert(f, initial_guess)

    @custom_jvp
    def root(consts: Any, guess: Any) -> Any:
        return solve(lambda x: converted(x, *consts), guess)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (consts, guess), (consts_dot, _) = primals, tangents
        out = root(consts, guess)
        x = out[0] if has_aux else out
        change = jvp(lambda cs: converted(x, *cs), (consts,), (consts_dot,))[1]
        slope = linearize(lambda y: converted(y, *consts), x)[1]
        tangent = tree.tree_map(neg, tangent_solve(slope, change))
        return out, ((tangent, _no_tangents(out[1])) if has_aux else tangent)

    return root(consts, initial_guess)


def _require_function(what: str, name: str, given: Any) -> None:
    if not callable(given):
        raise TypeError(f"{what}: {name} must be a function, got {given!r}")


def _no_tangents(out: Any) -> Any:
    return tree.tree_map(lambda x: ad.zeros_like_aval(core.get_aval(x).to_tangent_aval()), out)


def _struct(x: Any) -> Any:
    aval = core.get_aval(x)
    return core.ShapeDtypeStruct(aval.shape, aval.dtype)
