"""Programs of Python functions: staged once per signature and kept while the function exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import examples
from primax.extend.provisional.programs import Signature, surroundings, trace
from primax.interpreters.runtime.pipeline import Program

__all__ = ["Program", "stage"]
__dir__ = __all__.copy
examples.attach()


def stage(
    fun: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[Any],
    name: str,
    what: str,
    call: Callable[..., Any] | None = None,
    variant: Any = (),
) -> Program:
    """The program of a function whose positional arguments have the given structure and types.

    Args:
      fun: the function; the program is kept as long as it lives.
      in_tree: the structure.
      avals: the types of its leaves.
      name: the name of the function in messages.
      what: the transformation that stages it.
      call: a function that calls `fun`, to stage instead of `fun`.
      variant: distinguishes several programs for one `fun`.

    Raises:
      TypeError: a leaf of the result is not an array; the message names its path.

    >>> import primax as px
    >>> from primax.extend import core
    >>> leaves, in_tree = core.tree.flatten((1.0, 2.0))
    >>> scale = px.numpy.arange(2)
    >>> stage(lambda x, y: x + y * scale, in_tree, list(map(core.get_aval, leaves)), "f", "example").closed.in_avals
    [ShapedArray(float32[], weak_type=True), ShapedArray(float32[], weak_type=True)]
    """
    signature = Signature(what, in_tree, tuple(avals), (), None, variant, *surroundings())
    return trace(fun, signature, name, lambda arguments, _: (call or fun)(*arguments))
