"""A fixed point of a function, as a primitive that holds the function and is differentiated implicitly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import primax as px
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.core import tree
from primax.extend.interpreters import ad, batching
from primax.extend.programs import stage
from primax.typing import ArrayLike

__all__ = ["find_fixed_point", "find_fixed_point_p", "primax_register"]

definitions = Definitions()


def find_fixed_point(fun: Callable[[Any], Any], x: ArrayLike, steps: int = 50) -> Any:
    """The point x for which `fun(x)` is x, by iteration.

    Args:
      fun: a contraction, from a floating array to one of its type; it may close over others.
      x: where to start.
      steps: how often `fun` is applied.

    Raises:
      TypeError: `fun` returns something of another type.

    >>> round(float(find_fixed_point(pnp.cos, 1.0)), 5)
    0.73909
    """
    x = pnp.asarray(x)
    _, in_tree = tree.flatten((x,))
    program = stage(fun, in_tree, [core.get_aval(x)], getattr(fun, "__name__", "fun"), "find_fixed_point")
    (out,) = find_fixed_point_p.bind(*program.closed.consts, x, program=program.open, steps=steps)
    return out


def _impl(*args: Any, program: core.ClosedJaxpr, steps: int) -> list[Any]:
    *consts, x = args
    fun = core.jaxpr_as_fun(program)
    return [px.lax.fori_loop(0, steps, lambda i, x: fun(*consts, x)[0], x)]


def _abstract_eval(
    *avals: core.ShapedArray, program: core.ClosedJaxpr, steps: int
) -> tuple[list[core.ShapedArray], core.Effects]:
    (out,) = program.out_avals
    if (out.shape, out.dtype) != (avals[-1].shape, avals[-1].dtype):
        raise TypeError(f"find_fixed_point: fun must return {avals[-1].str_short()}, got {out.str_short()}")
    return [core.ShapedArray(out.shape, out.dtype)], program.effects


def _jvp(primals: Any, tangents: Any, *, program: core.ClosedJaxpr, steps: int) -> Any:
    """From x = f(a, x): dx = df/da da + df/dx dx, a linear system for dx. The start has no influence."""
    *consts, _ = primals
    (x,) = find_fixed_point_p.bind(*primals, program=program, steps=steps)
    *dots, _ = tangents
    given = [i for i, t in enumerate(dots) if type(t) is not ad.Zero]
    if not given:
        return [x], [ad.Zero.from_primal_value(x)]

    def of_consts(*changed: Any) -> Any:
        every = list(consts)
        for i, const in zip(given, changed, strict=True):
            every[i] = const
        return core.jaxpr_as_fun(program)(*every, x)[0]

    _, moved = px.jvp(of_consts, tuple(consts[i] for i in given), tuple(dots[i] for i in given))
    jacobian = px.jacfwd(lambda x: core.jaxpr_as_fun(program)(*consts, x)[0])(x)
    size = x.size
    matrix = pnp.eye(size, dtype=x.dtype) - jacobian.reshape(size, size)
    return [x], [pnp.linalg.solve(matrix, moved.reshape(size)).reshape(x.shape)]


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, program: core.ClosedJaxpr, steps: int) -> Any:
    """The fixed point of the mapped program, which is one of all elements."""
    *consts, x = args
    *const_dims, dim = dims
    mapped, _ = batching.batch_jaxpr(program, axis, [*const_dims, 0], [True])
    start = batching.to_dim(x, axis.size, dim, 0)
    return find_fixed_point_p.bind(*consts, start, program=mapped, steps=steps), [0]


def _samples() -> Iterator[core.Sample]:
    x = np.array([0.3, -0.2], np.float32)
    program = px.make_jaxpr(lambda a, x: pnp.cos(a * x) / 2)(np.float32(0.5), x)
    # Another start leads to the same point, so that its derivative is zero; a check by differences sees the rest of it.
    yield core.Sample([np.float32(0.5), x], {"program": program, "steps": 50})


find_fixed_point_p = define_primitive(
    "find_fixed_point",
    multiple_results=True,
    impl=_impl,
    effectful_abstract_eval=_abstract_eval,
    jvp=_jvp,
    axis_batch=_batch,
    lowering=derive.from_impl,
    interpret=derive.from_impl,
    parameters={"program": core.ClosedJaxpr, "steps": int},
    samples=[_samples],
    doc="A fixed point of a function.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    """Enter the primitive and its function."""
    definitions.enter(registry)
    registry.functions(find_fixed_point=find_fixed_point)
