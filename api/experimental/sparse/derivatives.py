"""Derivatives of functions of sparse arrays, with respect to their stored elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax import tree_util
from primax.experimental.sparse.coordinates import JAXSparse
from primax.extend.provisional.arguments import check_function, one_or_several, wraps
from primax.interpreters import grad as dense
from primax.interpreters import jacobians


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _data(tree: Any) -> Any:
    return tree_util.tree_map(lambda x: x.data if _is_sparse(x) else x, tree, is_leaf=_is_sparse)


def _with_data(tree: Any, data: Any) -> Any:
    """The tree with other data in its sparse arrays; leaves of `data` may have additional leading dimensions."""
    leaves, structure = tree_util.tree_flatten(tree, is_leaf=_is_sparse)
    parts = structure.flatten_up_to(data)
    return structure.unflatten(
        [_like(x, part) if _is_sparse(x) else part for x, part in zip(leaves, parts, strict=True)]
    )


def _like(mat: Any, data: Any) -> Any:
    before = data.shape[: data.ndim - mat.data.ndim]
    (_, *others), aux = mat.tree_flatten()
    parts = [pnp.broadcast_to(x, before + x.shape) if before else x for x in others]
    return type(mat).tree_unflatten(aux, (data, *parts))


def _transformed(
    name: str,
    transform: Callable[..., Any],
    fun: Any,
    argnums: Any,
    has_aux: Any,
    has_value: bool,
    keywords: dict[str, Any],
) -> Callable[..., Any]:
    check_function(name, "fun", fun)
    numbers = one_or_several(name, "argnums", argnums, int)
    single = isinstance(argnums, int | np.integer)

    @wraps(fun)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise ValueError(f"{name}: argnums must name one of {len(args)} positional arguments, got {argnums!r}")
        places = [number % len(args) for number in numbers]

        def of_data(*data: Any) -> Any:
            new = list(args)
            for place, part in zip(places, data, strict=True):
                new[place] = _with_data(args[place], part)
            return fun(*new, **kwargs)

        derivative = transform(of_data, argnums=tuple(range(len(places))), has_aux=has_aux, **keywords)
        out = derivative(*(_data(args[place]) for place in places))
        first, rest = out if has_value or has_aux else (out, None)
        value, slopes = (first, rest) if has_value else (rest, first)
        slopes = _rebuilt(slopes, [args[place] for place in places])
        slopes = slopes[0] if single else slopes
        if has_value:
            return value, slopes
        return (slopes, value) if has_aux else slopes

    return transformed


def _rebuilt(slopes: Any, args: list[Any]) -> Any:
    return tuple(_with_data(arg, slope) for arg, slope in zip(args, slopes, strict=True))


_ARGS = """

    Args:
      fun: a function{of}.
      argnums: the positional arguments to differentiate by, an integer or several; arrays, or pytrees of sparse and
        dense arrays.
      has_aux: whether `fun` returns a pair `(output, aux)`; only `output` is differentiated.
      kwargs: other options of `primax.{name}`.

    Returns:
      A function whose result has a sparse array with the same indices in place of each sparse array of the arguments.

    Raises:
      TypeError: `fun` is not callable.
      ValueError: `argnums` names an argument that is missing.
    """


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., Any]:
    """Return a function that computes the gradient with respect to dense arrays and to elements of sparse arrays."""
    return _transformed("grad", dense.grad, fun, argnums, has_aux, False, kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., Any]:
    """Return a function that computes the value and the gradient; see `grad`."""
    return _transformed("value_and_grad", dense.value_and_grad, fun, argnums, has_aux, True, kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian with respect to elements of sparse arrays, in forward mode."""
    return _transformed("jacfwd", jacobians.jacfwd, fun, argnums, has_aux, False, kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian with respect to elements of sparse arrays, in reverse mode."""
    return _transformed("jacrev", jacobians.jacrev, fun, argnums, has_aux, False, kwargs)


jacobian = jacrev

for _function, _of in (
    (grad, " of a real number"),
    (value_and_grad, " of a real number"),
    (jacfwd, " of one array"),
    (jacrev, " of one array"),
):
    _function.__doc__ = f"{_function.__doc__}{_ARGS.format(of=_of, name=_function.__name__)}"
