"""Jacobians and Hessians, by `vmap` over bases of tangents or cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from primax.core import dtypes, tree
from primax.core.arguments import check_function, wraps
from primax.core.array_protocol import protocol_of
from primax.core.avals import get_aval
from primax.core.dimensions import has_dynamic
from primax.core.errors import UnsupportedError
from primax.core.host_values import array_of
from primax.interpreters.call_signature import argument_positions
from primax.interpreters.grad import FlatFunction, check_input, flat_call, without_tracers
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linearize_flat
from primax.interpreters.pullback import pull_back
from primax.interpreters.tangents import instantiate_zeros
from primax.interpreters.vmap import vmap


def _basis(avals: Sequence[Any]) -> list[Any]:
    """For each aval, all unit vectors of the joint space, along axis 0; weakly typed if the aval is."""
    *starts, total = accumulate((aval.size for aval in avals), initial=0)
    if has_dynamic(avals):
        return [_unknown_units(aval, start, total) for aval, start in zip(avals, starts, strict=True)]
    basis = [
        np.eye(total, dtype=bool)[:, start : start + aval.size].reshape(total, *aval.shape).astype(aval.dtype)
        for start, aval in zip(starts, avals, strict=True)
    ]
    return [array_of(x, aval) for x, aval in zip(basis, avals, strict=True)]


def _unknown_units(aval: Any, start: Any, total: Any) -> Any:
    """The unit vectors of a type in a space whose size is unknown until a program runs."""
    units = protocol_of(aval).units
    if units is None:
        raise UnsupportedError(f"the array protocol of {type(aval).__name__} has no units, got {aval} of unknown size")
    return units(aval, start, total)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, column by column in forward mode.

    Args:
      fun: a function of pytrees of arrays.
      argnums: the position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns a pair (result, aux).
      holomorphic: whether `fun` is complex-valued and holomorphic.

    Returns:
      A function of the same arguments. Its result has the structure of the result of `fun`, with a tree in place of
      each leaf: the structure of the argument, with leaves of shape `(*out.shape, *in.shape)`.

    >>> import primax as px
    >>> px.jacfwd(lambda x: x * x)(px.numpy.arange(3.0)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]
    """
    check_function("jacfwd", "fun", fun)
    positions = argument_positions("jacfwd", argnums)

    @wraps(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        flat_fun, flat, avals = flat_call("jacfwd", fun, positions, args, kwargs, has_aux)
        _check_field("jacfwd: the inputs", avals, holomorphic)

        def push(*tangents: Any) -> Any:
            _, out_tangents = jvp_flat(flat_fun, flat, tangents)
            return [instantiate_zeros(t) for t in out_tangents]

        columns = vmap(push, out_axes=-1)(*_basis(avals))
        sizes = [aval.size for aval in avals]
        blocks = [
            [
                _reshaped(block, (*column.shape[:-1], *aval.shape))
                for block, aval in zip(_split(column, sizes, -1), avals, strict=True)
            ]
            for column in columns
        ]
        jac = _tree_of_blocks(blocks, flat_fun, isinstance(argnums, int | np.integer))
        return (jac, without_tracers(flat_fun.aux)) if has_aux else jac

    return jacobian_fun


def _check_field(which: str, avals: Sequence[Any], holomorphic: bool) -> None:
    """Raise an error unless values are complex for a holomorphic function, and real otherwise."""
    for aval in avals:
        if holomorphic and not dtypes.is_complex(aval.dtype):
            raise TypeError(f"{which} must be complex with holomorphic=True, got {aval.str_short()}")
        if not holomorphic and not dtypes.is_floating(aval.dtype):
            raise TypeError(f"{which} must be real floating numbers, got {aval.str_short()}")


def _split(x: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    """An array cut into blocks along its first or last axis."""
    if len(sizes) == 1:
        return [x]
    ends = list(accumulate(sizes))
    cuts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [x[cut] if axis == 0 else x[..., cut] for cut in cuts]


def _reshaped(x: Any, shape: tuple[Any, ...]) -> Any:
    return x if len(x.shape) == len(shape) else x.reshape(shape)


def _tree_of_blocks(blocks: Sequence[Sequence[Any]], fun: FlatFunction, single: bool) -> Any:
    """The blocks of a Jacobian, by output and input, in the structure of the result and for each of the arguments."""
    inner = [tree.unflatten(fun.in_tree, row) for row in blocks]
    return tree.unflatten(fun.out_tree, [arguments[0] if single else arguments for arguments in inner])


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, row by row in reverse mode. The result is that of `jacfwd`.

    Args:
      fun, argnums, has_aux, holomorphic: as for `jacfwd`.
      allow_int: whether integer arguments are accepted.

    >>> import primax as px
    >>> px.jacrev(lambda x: x * x)(px.numpy.arange(3.0)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]
    """
    check_function("jacrev", "fun", fun)
    positions = argument_positions("jacrev", argnums)

    @wraps(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        flat_fun, flat, avals = flat_call("jacrev", fun, positions, args, kwargs, has_aux)
        for aval in avals:
            check_input("jacrev", aval, holomorphic, allow_int)
        outs, tape = linearize_flat(flat_fun, flat)
        out_avals = [get_aval(x) for x in outs]
        _check_field("jacrev: the results", out_avals, holomorphic)

        def pull(*cts: Any) -> Any:
            return pull_back(tape, cts, avals)

        in_avals = [aval.to_tangent_aval() for aval in avals]
        rows = vmap(pull)(*_basis(out_avals)) if out_avals else []
        sizes = [out.size for out in out_avals]
        split_rows = [_split(row, sizes, 0) for row in rows]
        blocks = [
            [_reshaped(row[i], (*out.shape, *aval.shape)) for row, aval in zip(split_rows, in_avals, strict=True)]
            for i, out in enumerate(out_avals)
        ]
        jac = _tree_of_blocks(blocks, flat_fun, isinstance(argnums, int | np.integer))
        return (jac, without_tracers(flat_fun.aux)) if has_aux else jac

    return jacobian_fun


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the Hessian of `fun`: `jacfwd` of `jacrev`, with the arguments of `jacfwd`.

    >>> import primax as px
    >>> px.hessian(lambda x: (x * x * x).sum())(px.numpy.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 6.0]]
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)
