"""Staging of the functions of control flow, with comparisons of their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.core import tree
from primax.extend.programs import stage
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import avals_of, name_of, source_of
from primax.extend.provisional.avals import WEAKNESS_AND_VMA, same_type


class Staged(NamedTuple):
    """A function as a program.

    Attributes:
      program: takes the values that the function closes over, then the leaves of its arguments; has no constants.
      consts: the values that the function closes over.
      out_tree: the structure of its result.
    """

    program: core.ClosedJaxpr
    consts: list[Any]
    out_tree: Any


@dataclass(frozen=True)
class MadeOf:
    """A function that calls another one; its programs are kept as long as the other function exists.

    Attributes:
      fun: the other function; apart from it the function depends on `kind` only.
      call: the function.
      kind: the name of the function that the user called, such as `fori_loop`.
      shown: the function that messages name, if it is not `fun`.
    """

    fun: Callable[..., Any]
    call: Callable[..., Any]
    kind: str
    shown: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


def written(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The user's function that a function is made of."""
    return fun.shown or fun.fun if isinstance(fun, MadeOf) else fun


def require_function(what: str, name: str, fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"{what}: {name} must be a function, got {fun!r}")


def as_result(x: Any) -> Any:
    """An operand as a result: numbers of Python or NumPy become arrays."""
    if isinstance(x, core.Tracer | core.Array) or core.get_aval(x).composite:
        return x
    return runtime.put_value(x, core.get_aval(x).weak_type)


def flatten_operands(what: str, name: str, operands: Any, single: bool = False) -> tuple[list[Any], Any, list[Any]]:
    """The leaves of operands, their structure and their types; if `single`, as the one argument of a function.

    Raises:
      TypeError, ValueError, OverflowError: as for `avals_of`.
    """
    leaves, in_tree = tree.flatten((operands,) if single else operands)
    return leaves, in_tree, avals_of(leaves, operands, what, argument=name, hint="")


def stage_function(what: str, fun: Callable[..., Any], in_tree: Any, avals: Sequence[Any]) -> Staged:
    """The program of a function of positional arguments with a structure and types."""
    kept, call, kind = (fun.fun, fun.call, fun.kind) if isinstance(fun, MadeOf) else (fun, None, "")
    name = name_of(written(fun))
    program = stage(kept, in_tree, avals, name, what, call, kind)
    refuse_effects(f"{what}: {name}", program.closed.effects)
    return Staged(program.open, program.closed.consts, program.out_tree)


def refuse_effects(where: str, effects: Iterable[Any]) -> None:
    """Raise an error for effects that are not registered as allowed inside control flow."""
    for effect in effects:
        if not core.kind_of(effect).control_flow:
            raise NotImplementedError(
                f"{where} has the effect {effect!r}, which is not allowed inside loops and branches; "
                f"primax.extend.effects.control_flow_allowed_effects.add_type({type(effect).__name__}) allows it"
            )


def converted_outputs(closed: core.ClosedJaxpr, avals: Sequence[Any]) -> core.ClosedJaxpr:
    """A program whose results are converted to the given types."""
    if all(out == aval for out, aval in zip(closed.out_avals, avals, strict=True)):
        return closed

    def run(*args: Any) -> list[Any]:
        outs = core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [core.protocol_of(aval).convert(x, aval) for x, aval in zip(outs, avals, strict=True)]

    key = ("converted", tuple(avals))
    return core.cached(closed, key, lambda: core.trace_to_jaxpr(run, closed.in_avals, closed.jaxpr.debug_info))


def require_same_types(
    rules: tuple[str, str],
    names: tuple[str, str],
    trees: tuple[Any, Any],
    avals: tuple[Sequence[Any], Sequence[Any]],
    functions: Mapping[str, Callable[..., Any]],
) -> None:
    """Raise an error for two results that differ in structure, or in the shape or dtype of a leaf.

    Args:
      rules: the beginnings of the messages about structures and about types.
      names: the names of the results.
      trees: their structures.
      avals: the types of their leaves.
      functions: the functions that return them, by the names that the message gives them; it says where they are.

    Raises:
      TypeError: they differ; the message has both, and the first difference.
    """
    try:
        tree.require_same_structure(f"{rules[0]}, but they differ", *trees, *names)
    except TypeError as error:
        raise TypeError(f"{error}{_lines_of(functions)}") from None
    for i, (one, other) in enumerate(zip(*avals, strict=True)):
        if not same_type(one, other, WEAKNESS_AND_VMA):
            shown = [tree.unflatten(t, [aval.str_short() for aval in a]) for t, a in zip(trees, avals, strict=True)]
            marked = tree.unflatten(trees[0], range(len(avals[0])))
            path = next(tree.keystr(p) for p, j in tree.tree_leaves_with_path(marked) if j == i)
            both = f"\n  {names[0]}: {shown[0]}\n  {names[1]}: {shown[1]}" if path else ""
            raise TypeError(
                f"{rules[1]}, but they differ;{path and f' at {path}'} {names[0]} is {one.str_short()}, {names[1]} is "
                f"{other.str_short()}{_remedy(names, one, other)}{both}{_lines_of(functions)}"
            )


def _lines_of(functions: Mapping[str, Callable[..., Any]]) -> str:
    return "".join([f"\n  {name} is {source_of(written(fun))}" for name, fun in functions.items()])


def _remedy(names: tuple[str, str], one: Any, other: Any) -> str:
    if one.composite or other.composite or one.shape != other.shape:
        return ""
    if one.dtype == other.dtype:
        return "; primax.reshard changes the division of one"
    return f"; use .astype('{other.dtype}') on {names[0]}, or .astype('{one.dtype}') on {names[1]}"
