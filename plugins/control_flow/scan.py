"""`scan`: a function applied along an axis, with a carry from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from primax.extend import core
from primax.extend.core import Array, ShardingTypeError, tree
from primax.extend.provisional.arguments import integer, name_of
from primax.extend.provisional.dimensions import as_size
from primax.extend.provisional.sharding import axes_of_dims
from primax.extend.provisional.tracing import thread
from primax.plugins.control_flow.carry import stage_carrying
from primax.plugins.control_flow.scan_rules import scan_p
from primax.plugins.control_flow.staging import MadeOf, as_result, flatten_operands, require_function
from primax.plugins.control_flow.vma import hoisted

_MOST_UNROLLED = 2**20  # XLA does not finish with longer programs

_Carry = TypeVar("_Carry")
_Y = TypeVar("_Y")


@overload
def scan(
    f: Callable[[Any, Any], tuple[Any, _Y]],
    init: complex,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Array, _Y]: ...
@overload
def scan(
    f: Callable[[_Carry, Any], tuple[_Carry, _Y]],
    init: _Carry,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[_Carry, _Y]: ...
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: object,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Apply `f` to the elements of arrays in turn, with a carry from step to step.

    It is compiled as one loop of any number of steps. In reverse mode, the residuals of every step are kept for the
    backward pass; residuals that are the same in all steps are computed and kept once.

    Args:
      f: `(carry, x) -> (carry, y)`; the carry keeps its structure, shapes and dtypes. The pair may be of any class that
        is a pytree with two children, such as a named tuple.
      init: the first carry, arrays in any containers.
      xs: arrays in any containers, of the same length along axis 0; `f` gets their elements. None if there are none.
      length: the number of steps; needed if there are no `xs`.
      reverse: whether to begin with the last element. Results keep the positions of their elements.
      unroll: the number of steps in one iteration of the loop; True for all, and 0 means 1.
      _split_transpose: has no effect; packages for JAX pass it.

    Returns:
      The last carry, and the outputs `y`, stacked along axis 0, in a pair of the class that `f` returns.

    Raises:
      TypeError: `f` does not return a pair, or changes the type of the carry; an argument is not an array.
      ValueError: lengths disagree, or there is none.

    >>> import primax as px
    >>> total, sums = px.lax.scan(lambda c, x: (c + x, c + x), 0, px.numpy.arange(4))
    >>> int(total), sums.tolist()
    (6, [0, 1, 3, 6])
    """
    require_function("scan", "f", f)
    what = f.kind if isinstance(f, MadeOf) else "scan"  # fori_loop and map are scans
    names = ("init", "the carry that f returns") if what == "scan" else ("init_val", "the result of body_fun")
    leaves, in_tree, avals = flatten_operands(what, names[0], init)
    x_leaves, xs_tree, x_avals = flatten_operands(what, "xs", xs)
    count = _length(what, xs, x_avals, length)
    turns = _unroll(unroll, count)
    if core.config.disable_jit.value and not thread.trace.tracing:
        return _in_python(f, tree.tree_map(as_result, init), xs_tree, [*map(as_result, x_leaves)], count, reverse)
    elements = [aval.mapped(count, 0) for aval in x_avals]
    body, leaves, avals = stage_carrying(
        what, f, tree.treedef_tuple((in_tree, xs_tree)), leaves, avals, names, elements
    )
    program, consts, x_leaves = hoisted(body.program, body.consts, len(leaves), x_leaves)
    outs = scan_p.bind(
        *consts,
        *leaves,
        *x_leaves,
        jaxpr=program,
        num_consts=len(consts),
        num_carry=len(leaves),
        length=count,
        reverse=bool(reverse),
        unroll=turns,
    )
    return tree.unflatten(body.out_tree, outs)


def _length(what: str, xs: Any, avals: list[Any], length: Any) -> int:
    """The number of steps, on which all arrays and `length` agree."""
    if length is not None:
        length = integer(what, "length", length)
        if length < 0:
            raise ValueError(f"{what}: length must not be negative, got {length}")
    size = length
    for (path, _), aval in zip(tree.tree_leaves_with_path(xs), avals, strict=True):
        if not aval.shape:
            raise ValueError(f"{what}: xs{tree.keystr(path)} must have an axis to scan along, got {aval.str_short()}")
        if axes_of_dims(aval)[0]:
            raise ShardingTypeError(
                f"{what}: xs{tree.keystr(path)} must not be divided along axis 0, whose elements are taken one by one, "
                f"got {aval.str_short()}; bring it whole to every device along it with primax.reshard"
            )
        if size is None:
            size = aval.shape[0]
        elif aval.shape[0] != size:
            other = "length" if length is not None else "the first array of xs"
            raise ValueError(
                f"{what}: xs{tree.keystr(path)} must be as long along axis 0 as {other}, got {aval.shape[0]} and {size}"
            )
    if size is None:
        raise ValueError(f"{what}: length must be given where xs has no arrays")
    return as_size(size)


def _unroll(unroll: Any, length: int) -> int:
    turns = length if unroll is True else integer("scan", "unroll", unroll)
    if turns < 0:
        raise ValueError(f"scan: unroll must not be negative, got {turns}")
    if min(turns, length) >= _MOST_UNROLLED:
        raise ValueError(f"scan: unroll must be below {_MOST_UNROLLED}, got {unroll} for {length} steps")
    return max(turns, 1)


def _in_python(f: Callable[..., Any], carry: Any, xs_tree: Any, leaves: list[Any], length: int, reverse: bool) -> Any:
    """The scan as a loop in Python, for debugging with `disable_jit`."""
    if length == 0:
        raise ValueError("scan: with disable_jit, at least one step must be taken, got length 0")
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        pair = f(carry, tree.unflatten(xs_tree, [_element(x, i) for x in leaves]))
        carry, y = _level_of_pair(f, pair).flatten_up_to(pair)
        ys.append(y)
    if reverse:
        ys.reverse()
    stacked = tree.tree_map(lambda *parts: core.protocol_of(core.get_aval(parts[0])).stack(parts, 0), *ys)
    return tree.unflatten(_level_of_pair(f, pair), (carry, stacked))


def _element(x: Any, i: int) -> Any:
    aval = core.get_aval(x)
    return core.protocol_of(aval).index(x, i, 0) if aval.composite else x[i]


def _level_of_pair(f: Callable[..., Any], pair: Any) -> Any:
    """The structure of a pair, whose two children are leaves."""
    level = tree.tree_structure(pair, is_leaf=lambda x: x is not pair)
    if len(tree.treedef_children(level)) != 2:
        raise TypeError(f"scan: {name_of(f)} must return a pair (carry, y), but returns {pair!r}")
    return level
