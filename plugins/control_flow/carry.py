"""Bodies of loops: functions whose result must have the type of the carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray, tree
from primax.extend.provisional.arguments import source_of
from primax.plugins.control_flow.staging import (
    MadeOf,
    Staged,
    converted_outputs,
    require_same_types,
    stage_function,
    written,
)
from primax.plugins.control_flow.vma import require_steady_variance


def stage_carrying(
    what: str,
    body: Callable[..., Any],
    in_tree: Any,
    leaves: Sequence[Any],
    avals: Sequence[Any],
    names: tuple[str, str],
    others: Sequence[Any] = (),
) -> tuple[Staged, list[Any], list[Any]]:
    """Stage a function from a carry to the next carry, or from a carry and an element to a pair.

    A carry that begins with weak type takes the dtype of the function's result, not weak, as in JAX. That may change
    the dtypes of other parts of the carry, until all are steady.

    Args:
      what: the name of the calling function, for messages.
      body: the function.
      in_tree: the structure of its one or two arguments.
      leaves: the leaves of the first carry.
      avals: the types of the carry's leaves.
      names: the names of the first and the next carry in messages.
      others: the types of the leaves of its second argument.

    Returns:
      The program, and the leaves of the carry and their types in the program.

    Raises:
      TypeError: the function does not return a required pair, or changes the structure or the type of the carry.
    """
    carry_tree, *other_trees = tree.treedef_children(in_tree)
    count = len(avals)
    subject = f"{what}: body function carry input and carry output"
    rules = f"{subject} must have the same pytree structure", f"{subject} must have equal types"
    functions = {"f" if what == "scan" else "body_fun": body}
    # A counted loop has a counter in its carry, which the user does not see.
    hidden = 1 if isinstance(body, MadeOf) and body.kind == "fori_loop" else 0

    def compare(out_tree: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
        trees = [t.children()[1] if hidden and len(t.children()) == 2 else t for t in (carry_tree, out_tree)]
        require_same_types(rules, names, (trees[0], trees[1]), (ins[hidden:], outs[hidden:]), functions)

    staged = stage_function(what, body, in_tree, [*avals, *others])
    out_tree = _first_of_pair(what, body, staged.out_tree) if other_trees else staged.out_tree
    compare(out_tree, (), ())
    steady = given = list(avals)
    while True:
        pairs = zip(steady, staged.program.out_avals, strict=False)
        # After the first round a part stays weak, as in JAX, unless it needs another dtype.
        widened = [x if steady is not given and _same_dtype(x, y) else _widened(x, y) for x, y in pairs]
        if widened == steady:
            widened = [x if _same_dtype(x, y) else x.strip_weak_type() for x, y in zip(steady, given, strict=True)]
            if widened == steady:
                break
        steady = widened
        staged = stage_function(what, body, in_tree, [*steady, *others])
    if steady is not given:
        leaves = [core.protocol_of(aval).convert(x, aval) for x, aval in zip(leaves, steady, strict=True)]
        avals = steady
    out_avals = staged.program.out_avals
    compare(out_tree, avals, out_avals[:count])
    require_steady_variance(rules[1], names, carry_tree, avals, out_avals[:count])
    program = converted_outputs(staged.program, [*avals, *out_avals[count:]])
    return staged._replace(program=program), list(leaves), list(avals)


def _first_of_pair(what: str, body: Callable[..., Any], out_tree: Any) -> Any:
    children = tree.treedef_children(out_tree)
    if len(children) != 2:
        where = source_of(written(body))
        raise TypeError(f"{what}: the body must return a pair (carry, y), but {where} returns {out_tree}")
    return children[0]


def _same_dtype(x: Any, y: Any) -> bool:
    """Whether two types have the same dtype; types of users have none, and are not converted."""
    return x.composite or y.composite or x.dtype == y.dtype


def _widened(before: Any, after: Any) -> ShapedArray:
    """The type of a carry after one step, if it begins with weak type; still weak if the step makes it so."""
    if not getattr(before, "weak_type", False) or after.composite or before.shape != after.shape or before == after:
        return before
    return after if dtypes.result_type(before, after) == after.dtype else before
