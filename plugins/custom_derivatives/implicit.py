"""Solutions of equations with implicit derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.held_programs import merge, partition
from primax.extend.interpreters import ad
from primax.extend.provisional.arguments import wraps
from primax.extend.provisional.transformations import jvp, linear_transpose, linearize
from primax.plugins.arithmetic import neg, sub
from primax.plugins.custom_derivatives.closures import closed, convert
from primax.plugins.custom_derivatives.custom_jvp import custom_jvp
from primax.plugins.custom_derivatives.linear import linear_call_by

Function = Callable[..., Any]


def custom_linear_solve(
    matvec: Function,
    b: object,
    solve: Function,
    transpose_solve: Function | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve the linear equation `matvec(x) = b`, and differentiate the solution implicitly.

    Its derivative solves the same equation: with A for `matvec`, A dx = db - dA x. In reverse mode the transposed
    equation is solved.

    Args:
      matvec: a linear function from arrays in any containers to the same structure; it may close over differentiated
        values.
      b: the right-hand side.
      solve: `(matvec, b) -> x`; it need not be differentiable, and may close over any values.
      transpose_solve: `(vecmat, ct) -> x`, which solves the transposed equation; needed for reverse mode unless
        `symmetric`.
      symmetric: whether `matvec` is its own transpose, so that `solve` solves both.
      has_aux: whether `solve` and `transpose_solve` return a pair of the solution and further results, which are not
        differentiated.

    Returns:
      The solution, or a pair of it and the further results.

    Raises:
      TypeError: an argument is not a function, or one returns another structure than that of `b`; in reverse mode,
        there is no `transpose_solve`.
      ValueError: a function returns other shapes than those of `b`, or no pair if `has_aux`.

    >>> import primax as px
    >>> def half(b):
    ...     return px.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: b / 2.0, symmetric=True)
    >>> float(half(3.0)), float(px.grad(half)(3.0))
    (1.5, 0.5)
    """
    for name, function in (("matvec", matvec), ("solve", solve)):
        _require_function("custom_linear_solve", name, function)
    matvec = _like_argument("custom_linear_solve", "matvec", matvec, 0, "its argument")
    solve = _like_argument("custom_linear_solve", "solve", solve, 1, "b", has_aux)
    matvec_of, consts = convert(matvec, (b,), lambda aval: True)
    b_like = tree.tree_map(_struct, b)

    def apply(params: Any, x: Any) -> Any:
        return matvec_of(x, *params[0])

    def transposed_apply(params: Any, y: Any) -> Any:
        return linear_transpose(functools.partial(apply, params), b_like)(y)[0]

    def solver_of(solver: Function, apply: Function, place: int) -> tuple[Function, list[Any]]:
        """`(params, rhs) -> x` from `(matvec, rhs) -> x`, and its closed-over values, `params[place]`."""
        inner, own = closed(lambda consts, rhs: solver(functools.partial(apply, (consts,)), rhs), consts, b)
        return lambda params, rhs: inner(params[0], rhs, *params[place]), own

    forward, forward_consts = solver_of(solve, apply, 1)
    backward_consts: list[Any] = []
    transposed: Function | None = None
    solution: Function
    if symmetric:
        transposed = lambda params, ct: solution(params, ct)  # noqa: E731
    elif transpose_solve is not None:
        transpose_solve = _like_argument("custom_linear_solve", "transpose_solve", transpose_solve, 1, "b", has_aux)
        backward, backward_consts = solver_of(transpose_solve, transposed_apply, 2)
        transposed = _solution_of(transposed_apply, backward, lambda params, ct: solution(params, ct), has_aux)
    solution = _solution_of(apply, forward, transposed, has_aux)
    params = (consts, forward_consts, backward_consts)
    if not has_aux:
        return solution(params, b)

    @custom_jvp
    def solution_and_aux(params: Any, rhs: Any) -> Any:
        return forward(params, rhs)

    @_with_symbolic_zeros(solution_and_aux)
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (params, rhs), (params_dot, rhs_dot) = primals, tangents
        x, aux = solution_and_aux(params, rhs)
        return (x, aux), (solution(params, _linearized_rhs(apply, params, params_dot, x, rhs_dot)), _no_tangents(aux))

    return solution_and_aux(params, b)


def _solution_of(apply: Function, solver: Function, transposed: Function | None, has_aux: bool) -> Function:
    """`(params, rhs) -> x` with `apply(params, x) = rhs`, differentiated implicitly.

    Args:
      apply: `(params, x) -> rhs`, linear in x.
      solver: `(params, rhs) -> x`, or a pair with further results if `has_aux`.
      transposed: the same function for the transposed equation; without it, reverse mode raises an error.
      has_aux: as for `custom_linear_solve`.
    """

    def solved(params: Any, rhs: Any) -> Any:
        return solver(params, rhs)[0] if has_aux else solver(params, rhs)

    @custom_jvp
    def solution(params: Any, rhs: Any) -> Any:
        return linear_call_by(solved, transposed, solution, params, rhs)

    @_with_symbolic_zeros(solution)
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (params, rhs), (params_dot, rhs_dot) = primals, tangents
        x = solution(params, rhs)
        return x, solution(params, _linearized_rhs(apply, params, params_dot, x, rhs_dot))

    return solution


def _linearized_rhs(apply: Function, params: Any, params_dot: Any, x: Any, rhs_dot: Any) -> Any:
    """The right-hand side of the equation for the tangent of the solution: db - dA x."""
    change = _tangent(lambda consts: apply((consts,), x), params[0], params_dot[0])
    dense = tree.tree_map(ad.instantiate_zeros, rhs_dot)
    return dense if change is None else tree.tree_map(sub, dense, change)


def _with_symbolic_zeros(fun: custom_jvp[Any, Any]) -> Callable[[Function], Function]:
    """A decorator that sets a rule with symbolic zeros: values that do not move may have no derivatives."""
    return functools.partial(fun.defjvp, symbolic_zeros=True)


def _tangent(fun: Function, values: Any, tangents: Any) -> Any:
    """The tangent of a function of some values; None if no value moves."""
    primals, structure = tree.flatten(values)
    dots = tree.tree_leaves(tangents)
    moving = [not isinstance(t, ad.Zero) for t in dots]
    if not any(moving):
        return None
    rest, own = partition(primals, moving)

    def of_moving(*xs: Any) -> Any:
        return fun(tree.unflatten(structure, merge(moving, rest, xs)))

    return jvp(of_moving, own, [t for t in dots if not isinstance(t, ad.Zero)])[1]


def custom_root(
    f: Function, initial_guess: object, solve: Function, tangent_solve: Function, has_aux: bool = False
) -> Any:
    """Find a root of `f`, and differentiate it by the implicit function theorem.

    With a root x of f(x, a), which closes over a: df/dx dx = - df/da da.

    Args:
      f: from arrays in any containers to the same structure; it may close over differentiated values.
      initial_guess: the starting point of `solve`; the root does not depend on it.
      solve: `(f, initial_guess) -> root`; it need not be differentiable, and may close over any values.
      tangent_solve: `(g, y) -> x`, which solves g(x) = y for a linear function g; it must be linear in y, and for
        reverse mode it must have a transpose, like `custom_linear_solve`.
      has_aux: whether `solve` returns a pair of the root and further results, which are not differentiated.

    Returns:
      The root, or a pair of it and the further results.

    Raises:
      TypeError: an argument is not a function, or one returns another structure than that of `initial_guess`.
      ValueError: `solve` does not return a pair if `has_aux`.

    >>> import primax as px
    >>> def newton(f, x):
    ...     step = lambda _, x: x - f(x) / px.grad(f)(x)
    ...     return px.lax.fori_loop(0, 10, step, x)
    >>> def root(a):
    ...     return px.lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))
    >>> round(float(root(2.0)), 4), round(float(px.grad(root)(2.0)), 4)
    (1.4142, 0.3536)
    """
    for name, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        _require_function("custom_root", name, function)
    f = _like_argument("custom_root", "f", f, 0, "its argument", shapes=False)
    solve = _like_argument("custom_root", "solve", solve, 1, "initial_guess", has_aux, shapes=False)
    tangent_solve = _like_argument("custom_root", "tangent_solve", tangent_solve, 1, "its argument", shapes=False)
    converted, consts = convert(f, (initial_guess,), lambda aval: True)
    solver, hoisted = closed(lambda consts, guess: solve(lambda x: converted(x, *consts), guess), consts, initial_guess)

    @custom_jvp
    def root(consts: Any, hoisted: Any, guess: Any) -> Any:
        return solver(consts, guess, *hoisted)

    @_with_symbolic_zeros(root)
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (consts, hoisted, guess), (consts_dot, _, _) = primals, tangents
        out = root(consts, hoisted, guess)
        x = out[0] if has_aux else out
        change = _tangent(lambda cs: converted(x, *cs), consts, consts_dot)
        if change is None:
            return out, _no_tangents(out)
        slope = linearize(lambda y: converted(y, *consts), x)[1]
        tangent = tree.tree_map(neg, tangent_solve(slope, change))
        return out, ((tangent, _no_tangents(out[1])) if has_aux else tangent)

    return root(consts, hoisted, initial_guess)


def _require_function(what: str, name: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{what}: {name} must be a function, got {function!r}")


def _like_argument(
    what: str, name: str, fun: Function, place: int, like: str, has_aux: bool = False, shapes: bool = True
) -> Function:
    """A function whose result must have the structure of one of its arguments.

    Args:
      what: the name of the calling function, for messages.
      name: the name of `fun`.
      fun: the function.
      place: the position of the argument.
      like: the name of the argument in messages.
      has_aux: whether `fun` returns a pair, whose first entry is compared.
      shapes: whether shapes must be equal too.
    """

    @wraps(fun)
    def checked(*args: Any) -> Any:
        out = fun(*args)
        if has_aux and not (isinstance(out, tuple | list) and len(out) == 2):
            raise ValueError(f"{what}: {name} must return a pair (x, aux), since has_aux is True, got {out!r}")
        result, argument = out[0] if has_aux else out, args[place]
        names = (f"the result of {name}", like)
        rule = f"{what}: {name} must return the structure of {like}"
        tree.require_same_structure(rule, tree.tree_structure(result), tree.tree_structure(argument), *names)
        if shapes:
            for (path, x), y in zip(tree.tree_leaves_with_path(result), tree.tree_leaves(argument), strict=True):
                one, other = core.get_aval(x), core.get_aval(y)
                if one.shape != other.shape:
                    raise ValueError(
                        f"{what}: {name} must return the shapes of {like}, got {one.str_short()} for "
                        f"{other.str_short()}{f' at {tree.keystr(path)}' if path else ''}"
                    )
        return out

    return checked


def _no_tangents(out: Any) -> Any:
    return tree.tree_map(lambda x: ad.zeros_like_aval(core.get_aval(x).to_tangent_aval()), out)


def _struct(x: Any) -> core.ShapeDtypeStruct:
    aval = core.get_aval(x)
    return core.ShapeDtypeStruct(aval.shape, aval.dtype)
