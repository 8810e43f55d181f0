"""Programs of Python functions: staged once per signature and kept while the function exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.programs import programs_of, remember, surroundings
from primax.interpreters.call_signature import check_outputs

__all__ = ["Program", "stage"]


class Program:
    """The result of tracing one signature of a function.

    Attributes:
      closed: the program; its constants are the values that the function closed over.
      out_tree: the structure of its results.
      in_tree: the structure of its dynamic arguments.
      ins: for each input its sharding, or None; None if no sharding is prescribed.
      outs: the same for its results.
    """

    __slots__ = ("_fast_tree", "_open", "closed", "in_tree", "ins", "out_tree", "outs", "tracers")

    def __init__(
        self, closed: core.ClosedJaxpr, in_tree: Any, out_tree: Any, ins: Any = None, outs: Any = None
    ) -> None:
        self.closed = closed
        self.ins = ins
        self.outs = outs
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.tracers = [x for x in closed.consts if isinstance(x, core.Tracer)]
        self._fast_tree: Any = None
        self._open: core.ClosedJaxpr | None = None

    def fast_tree(self, outs: Sequence[Any]) -> Any:
        """`out_tree` for jaxlib's dispatcher, which makes an `Array` of each buffer; `outs` are results of a call."""
        if self._fast_tree is None:
            self._fast_tree = tree.result_registry.flatten(tree.unflatten(self.out_tree, outs))[1]
        return self._fast_tree

    @property
    def open(self) -> core.ClosedJaxpr:
        """The program with its constants as leading arguments."""
        if self._open is None:
            jaxpr = self.closed.jaxpr
            invars = [*jaxpr.constvars, *jaxpr.invars]
            self._open = (
                core.ClosedJaxpr(jaxpr.replace(constvars=[], invars=invars)) if jaxpr.constvars else self.closed
            )
        return self._open

    def alive(self) -> bool:
        """Whether the enclosing transformations whose values the function closed over are still active."""
        return all(x._trace.alive for x in self.tracers)


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
    >>> leaves, in_tree = tree.flatten((1.0, 2.0))
    >>> scale = px.numpy.arange(2)
    >>> stage(lambda x, y: x + y * scale, in_tree, list(map(core.get_aval, leaves)), "f", "example").closed.in_avals
    [ShapedArray(float32[], weak_type=True), ShapedArray(float32[], weak_type=True)]
    """
    programs = programs_of(fun)
    key = (what, in_tree, tuple(avals), variant, surroundings())
    out_trees: list[Any] = []

    def run(*flat: Any) -> Any:
        leaves, out_tree = tree.flatten((call or fun)(*tree.tree_unflatten(in_tree, flat)))
        out_trees.append(out_tree)
        check_outputs(leaves, out_tree, name)
        return leaves

    def make() -> Program:
        return Program(core.trace_to_jaxpr(run, avals, name, what), in_tree, out_trees[0])

    return make() if programs is None else remember(programs, key, make)
