"""Arguments with symbolic shapes, for programs whose sizes become known at a call."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from primax.extend.core import ShapeDtypeStruct, get_aval, tree
from primax.plugins.symbolic_shapes.dims import SymbolicDim, bounds
from primax.plugins.symbolic_shapes.scope import SymbolicScope, symbolic_shape


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """The smallest and the largest value that a size may have, as far as they can be determined.

    Args:
      dimension: a symbolic dimension or an integer.

    Raises:
      TypeError: `dimension` is neither.

    >>> import primax as px
    >>> b, n = px.export.symbolic_shape("b, n", constraints=["n <= 8"])
    >>> px.export.symbolic_dim_bounds(b + n), px.export.symbolic_dim_bounds(b % 4 - n)
    ((2, inf), (-8, 2))
    """
    if not isinstance(dimension, SymbolicDim):
        try:
            dimension = operator.index(dimension)
        except TypeError:
            raise TypeError(
                f"symbolic_dim_bounds: dimension must be an integer or a symbolic dimension, got {dimension!r}"
            ) from None
    return bounds(dimension)


def symbolic_args_specs(
    args: object, shapes_specs: Any, constraints: Sequence[str] = (), scope: SymbolicScope | None = None
) -> Any:
    """The types of arguments, with symbolic shapes.

    Args:
      args: arrays, numbers or `ShapeDtypeStruct`s in any containers.
      shapes_specs: a text for `symbolic_shape`, whose placeholders are sizes of the argument; or None, for the shape of
        the argument; for all arguments, or in the containers of `args` or their first levels.
      constraints: as in `symbolic_shape`.
      scope: as in `symbolic_shape`.

    Returns:
      `ShapeDtypeStruct`s in the containers of `args`.

    Raises:
      TypeError: a leaf of `args` is neither an array nor a number.
      ValueError: the containers differ, or a text is wrong.

    >>> import primax as px
    >>> px.export.symbolic_args_specs(px.numpy.ones((2, 3)), "b, ...")
    ShapeDtypeStruct(shape=(b, 3), dtype=float32)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
        constraints = ()

    def spec(text: Any, x: Any) -> ShapeDtypeStruct:
        if not isinstance(x, ShapeDtypeStruct):
            aval = get_aval(x)
            x = ShapeDtypeStruct(aval.shape, aval.dtype)
        return x.update(shape=symbolic_shape(text, constraints=constraints, scope=scope, like=x.shape))

    texts = tree.broadcast_prefix(shapes_specs, args, is_leaf=lambda text: text is None)
    leaves, structure = tree.flatten(args)
    return tree.unflatten(structure, [spec(text, x) for text, x in zip(texts, leaves, strict=True)])
