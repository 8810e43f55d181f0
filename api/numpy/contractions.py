"""Einstein's summation convention: products of labeled arrays, two at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer, integers, sequence
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.sharding import with_out_sharding
from primax.extend.provisional.typing import ArrayLike, DTypeLike, ShardingLike
from primax.numpy.conversion import asarray
from primax.numpy.linear import contract, prepared
from primax.numpy.promotion import aval_of, convert
from primax.numpy.shaping import permuted
from primax.numpy.triangles import last_diagonal
from primax.plugins.reductions import reduce_or_p
from primax.plugins.structural import reduce_sum_p, squeeze_p

__all__ = ["einsum", "einsum_path"]

Labels = tuple[str, ...]


def einsum(
    subscripts: str | ArrayLike,
    /,
    *operands: object,
    out: None = None,
    optimize: str | bool | Sequence[Any] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Any = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of products of arrays over labeled axes.

    Args:
      subscripts: a string such as "ij,jk->ik", with a letter for each axis of each array, and after "->" the letters of
        the result. Letters that the result lacks are summed over; "..." stands for axes that broadcast. Without "->"
        the result has the letters that appear once, in alphabetical order. Instead of a string, operands may alternate
        with lists of integers.
      operands: the arrays.
      out: None.
      optimize: the order of the products. False goes from left to right; a list of pairs of positions is an order as
        `einsum_path` returns it; "greedy" takes the cheapest pair first. Anything else finds the order of fewest
        operations for up to 6 operands (10 for "optimal"), and is "greedy" for more.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.
      _dot_general: a function with the parameters of `lax.dot_general` that multiplies pairs; `lax.dot_general` if
        None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      ValueError: the subscripts are malformed or do not fit the arrays.
      TypeError: an operand is not an array.

    >>> import primax as px
    >>> px.numpy.einsum("ij,j->i", px.numpy.ones((2, 3)), px.numpy.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    if out is not None:
        raise NotImplementedError("einsum: out must be None: arrays are immutable")
    subscripts, arrays = _interleaved(subscripts, operands)
    if out_sharding is not None:
        options: dict[str, Any] = {
            "optimize": optimize,
            "precision": precision,
            "preferred_element_type": preferred_element_type,
        }
        options["_dot_general"] = _dot_general
        multiply = functools.partial(einsum, subscripts, **options)
        return with_out_sharding("einsum", multiply, arrays, out_sharding)
    arrays, preferred = prepared("einsum", arrays, preferred_element_type) if arrays else ([], None)
    inputs, output = _parse(subscripts, [get_aval(x).shape for x in arrays])
    items = [
        _simplified(x, labels, output, inputs[:i] + inputs[i + 1 :], preferred)
        for i, (x, labels) in enumerate(zip(arrays, inputs, strict=True))
    ]
    sizes = _sizes("einsum", [(labels, get_aval(x).shape) for x, labels in items])
    if len(items) == 1:
        x, labels = items[0]
        x = convert(x, get_aval(x), preferred) if preferred is not None else x
        return permuted(x, tuple(map(labels.index, output)))
    path = _path([labels for _, labels in items], output, sizes, optimize)
    for i, j in path:
        (x, of_x), (y, of_y) = items[i], items[j]
        rest = [item for k, item in enumerate(items) if k not in (i, j)]
        labels = output if not rest else _kept(of_x, of_y, [*(other for _, other in rest), output])
        x, of_x, y, of_y = _matched(x, of_x, y, of_y)
        x, of_x = _summed(x, of_x, {*labels, *of_y})
        y, of_y = _summed(y, of_y, {*labels, *of_x})
        items = [*rest, (contract(x, of_x, y, of_y, labels, precision, preferred, _dot_general), labels)]
    return items[0][0]


def einsum_path(
    subscripts: str | ArrayLike, /, *operands: object, optimize: str | bool | Sequence[Any] = "auto"
) -> tuple[list[tuple[int, ...]], EinsumPathInfo]:
    """The order of products of `einsum`, as pairs of positions, and a report of its cost, which prints as a table.

    The arguments are those of `einsum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> path, text = pnp.einsum_path("ij,jk,kl->il", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 2)))
      >>> path
      [(0, 1), (0, 1)]
    """
    subscripts, arrays = _interleaved(subscripts, operands)
    shapes = [aval_of("einsum_path", x, "operands").shape for x in arrays]
    inputs, output = _parse(subscripts, shapes)
    sizes = _sizes("einsum_path", list(zip(inputs, shapes, strict=True)))
    unique = [tuple(dict.fromkeys(labels)) for labels in inputs]
    path: list[tuple[int, ...]] = [(0,)] if len(unique) == 1 else list(_path(unique, output, sizes, optimize))
    return path, _report(inputs, output, sizes, path)


@dataclass(frozen=True)
class EinsumPathInfo:
    """The cost of an order of products.

    Attributes:
      eq: the subscripts.
      path: the pairs of positions.
      scale_list: the number of axes in each step.
      size_list: the number of elements of each step's result.
      steps: for each step the subscripts of its operands and result, and the remaining subscripts.
      naive_scale: the number of axes in one product of all operands.
      naive_cost: the number of operations of one product of all operands.
      opt_cost: the number of operations of the steps.
    """

    eq: str
    path: list[tuple[int, ...]]
    scale_list: list[int]
    size_list: list[int]
    steps: list[tuple[str, str]]
    naive_scale: int
    naive_cost: int
    opt_cost: int

    @property
    def largest_intermediate(self) -> int:
        """The number of elements of the largest intermediate result."""
        return max(self.size_list, default=1)

    @property
    def speedup(self) -> float:
        """The ratio of operations: one product of all operands to the steps."""
        return self.naive_cost / max(self.opt_cost, 1)

    def __repr__(self) -> str:
        rule = "-" * 80
        lines = [
            f"  Complete contraction:  {self.eq}",
            f"         Naive scaling:  {self.naive_scale}",
            f"     Optimized scaling:  {max(self.scale_list, default=0)}",
            f"      Naive FLOP count:  {self.naive_cost:.3e}",
            f"  Optimized FLOP count:  {self.opt_cost:.3e}",
            f"   Theoretical speedup:  {self.speedup:.3e}",
            f"  Largest intermediate:  {self.largest_intermediate:.3e} elements",
            rule,
            f"{'scaling':>7} {'current':>32} {'remaining':>39}",
            rule,
            *(f"{n:>7} {step:>32} {rest:>39}" for n, (step, rest) in zip(self.scale_list, self.steps, strict=True)),
        ]
        return "\n".join(lines)


def _operations(labels: Collection[str], sums: bool, operands: int, sizes: dict[str, int]) -> int:
    """The number of operations of a product of operands over all labels: multiplications, and additions of sums."""
    return math.prod(sizes[label] for label in labels) * (max(operands - 1, 1) + sums)


def _report(
    inputs: list[Labels], output: Labels, sizes: dict[str, int], path: Sequence[tuple[int, ...]]
) -> EinsumPathInfo:
    items = list(inputs)
    every = {label for labels in inputs for label in labels}
    eq = f"{','.join(map(''.join, inputs))}->{''.join(output)}"
    scales, results, steps, cost = [], [], [], 0
    for step in path:
        chosen = [items[i] for i in step]
        rest = [labels for i, labels in enumerate(items) if i not in step]
        labels = {label for labels_of in chosen for label in labels_of}
        needed = {label for labels_of in (*rest, output) for label in labels_of}
        kept = output if not rest else tuple(sorted(labels & needed))
        cost += _operations(labels, bool(labels - set(kept)), len(chosen), sizes)
        scales.append(len(labels))
        results.append(math.prod(sizes[label] for label in kept))
        items = [*rest, kept]
        left = f"{','.join(map(''.join, items))}->{''.join(output)}"
        steps.append((f"{','.join(map(''.join, chosen))}->{''.join(kept)}", left))
    naive = _operations(every, bool(every - set(output)), len(inputs), sizes)
    return EinsumPathInfo(eq, list(path), scales, results, steps, len(every), naive, cost)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LABELS = _LETTERS + "0123456789"  # JAX accepts digits, too


def _interleaved(subscripts: Any, operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Convert alternating arrays and lists of integers to the form with letters."""
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    arguments = [subscripts, *operands]

    names = _named_axes(arguments)

    def letter(axis: Any) -> str:
        if names is not None:
            return _LETTERS[names[axis]]
        place = integer("einsum", "subscripts", axis)
        if not 0 <= place < len(_LETTERS):
            raise ValueError(f"einsum: subscripts must be integers from 0 to {len(_LETTERS) - 1}, got {place}")
        return _LETTERS[place]

    def text(axes: Any) -> str:
        listed = sequence("einsum", "subscripts", axes)
        return "".join("..." if axis is Ellipsis else letter(axis) for axis in listed)

    ends = len(arguments) % 2
    pairs = [(arguments[i], text(arguments[i + 1])) for i in range(0, len(arguments) - ends, 2)]
    joined = ",".join(labels for _, labels in pairs)
    return joined + ("->" + text(arguments[-1]) if ends else ""), [x for x, _ in pairs]


def _named_axes(arguments: Sequence[Any]) -> dict[Any, int] | None:
    """The order of the names in lists of axis names, which replace subscripts; None if the lists have integers.

    Raises:
      TypeError: names are not hashable or cannot be ordered.
      ValueError: there are more names than letters.
    """
    lists = [*arguments[1::2], *(arguments[-1:] if len(arguments) % 2 else ())]
    names = [axis for axes in lists for axis in sequence("einsum", "subscripts", axes) if axis is not Ellipsis]
    if not any(isinstance(axis, str) for axis in names):
        return None
    try:
        ordered = sorted(set(names))
    except TypeError:
        raise TypeError(f"einsum: subscripts must be integers, or names that can be ordered, got {names!r}") from None
    if len(ordered) > len(_LETTERS):
        raise ValueError(f"einsum: subscripts must have at most {len(_LETTERS)} names, got {len(ordered)}")
    return {axis: place for place, axis in enumerate(ordered)}


def _parse(subscripts: str, shapes: list[tuple[int, ...]]) -> tuple[list[Labels], Labels]:
    """The labels of each operand's axes and of the result's; ellipsis axes get digits, counted from the right."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"einsum: subscripts must have a part for each operand, got {len(terms)} parts in {subscripts!r} and "
            f"{len(shapes)} operands"
        )
    inputs = [_labels(term, len(shape), subscripts) for term, shape in zip(terms, shapes, strict=True)]
    ellipsis = max(([label for label in labels if label.startswith(".")] for labels in inputs), key=len, default=[])
    if arrow:
        if "..." not in right and ellipsis:
            output = _labels(right, len(right), subscripts)
        else:
            output = _labels(right, len(right.replace("...", "")) + len(ellipsis), subscripts)
    else:
        every = [label for labels in inputs for label in labels]
        output = (*ellipsis, *sorted(x for x in set(every) if every.count(x) == 1 and not x.startswith(".")))
    known = {label for labels in inputs for label in labels}
    for label in output:
        if label not in known or output.count(label) > 1:
            raise ValueError(
                f"einsum: each label of the result must be a label of an operand, once, got {label!r} in {subscripts!r}"
            )
    return inputs, output


def _labels(term: str, rank: int, subscripts: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    if not all(letter in _LABELS for letter in letters):
        raise ValueError(
            f"einsum: subscripts must consist of letters, digits, commas, '...' and '->', got {subscripts!r}"
        )
    missing = rank - len(letters)
    if missing < 0 or (missing and not dots):
        raise ValueError(
            f"einsum: subscripts must have a letter for each axis, got {term!r} in {subscripts!r} for rank {rank}"
        )
    return (*before, *(f".{i}" for i in range(missing - 1, -1, -1)), *after)


def _simplified(x: Any, labels: Labels, output: Labels, others: list[Labels], preferred: Any) -> tuple[Any, Labels]:
    """An operand with each label once, summed over the labels that occur nowhere else."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = tuple([i for i in range(len(labels)) if i not in (first, second)])
            shape = get_aval(x).shape
            if shape[first] != shape[second]:
                raise ValueError(
                    f"einsum: axes of the same label must have the same length, got {shape[first]} and {shape[second]} "
                    f"for {label!r}"
                )
            x = last_diagonal(permuted(x, (*rest, first, second)), 0)
            labels = (*(labels[i] for i in rest), label)
    elsewhere = {label for other in others for label in other}
    needed = {*output, *elsewhere}
    if preferred is not None and not needed.issuperset(labels):
        x = convert(x, get_aval(x), preferred)
    return _summed(asarray(x), labels, needed)


def _summed(x: Any, labels: Labels, needed: Collection[str]) -> tuple[Any, Labels]:
    """An operand summed over the labels that are not needed."""
    axes = tuple([i for i, label in enumerate(labels) if label not in needed])
    if not axes:
        return x, labels
    reduce = reduce_or_p if dtypes.is_bool(get_aval(x).dtype) else reduce_sum_p
    return reduce.bind(x, axes=axes), tuple([label for label in labels if label in needed])


def _sizes(function: str, items: list[tuple[Labels, tuple[int, ...]]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, shape in items:
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(
                    f"{function}: axes of the same label must have the same length, got {known} and {size} for "
                    f"{label!r}"
                )
    return sizes


def _matched(x: Any, of_x: Labels, y: Any, of_y: Labels) -> tuple[Any, Labels, Any, Labels]:
    """Two operands; an axis of length 1 is dropped if the other operand has a longer axis with the same label."""

    def trimmed(z: Any, labels: Labels, other: Any, of_other: Labels) -> tuple[Any, Labels]:
        shape, lengths = get_aval(z).shape, dict(zip(of_other, get_aval(other).shape, strict=True))
        ones = [i for i, label in enumerate(labels) if shape[i] == 1 and lengths.get(label, 1) != 1]
        if not ones:
            return z, labels
        kept = tuple([label for i, label in enumerate(labels) if i not in ones])
        return squeeze_p.bind(z, dimensions=tuple(ones)), kept

    trimmed_x = trimmed(x, of_x, y, of_y)
    trimmed_y = trimmed(y, of_y, x, of_x)
    return (*trimmed_x, *trimmed_y)


def _kept(of_x: Labels, of_y: Labels, needed: list[Labels]) -> Labels:
    """The labels of a product that are needed later: shared ones first, in the order of `dot_general`."""
    needed_later = {label for labels in needed for label in labels}
    shared = [label for label in of_x if label in of_y]
    return tuple(
        [
            label
            for label in (
                *shared,
                *(z for z in of_x if z not in shared),
                *(z for z in of_y if z not in shared),
            )
            if label in needed_later
        ]
    )


def _path(inputs: list[Labels], output: Labels, sizes: dict[str, int], optimize: Any) -> list[tuple[int, int]]:
    """The pairs of operands to multiply, by position; a product is appended to the end."""
    if isinstance(optimize, list | tuple):
        steps = [integers(step, "einsum", "optimize") for step in optimize if not isinstance(step, str)]
        rooms = range(len(inputs), 1, -1)
        if len(steps) != len(rooms) or not all(map(_is_pair, steps, rooms)):
            raise ValueError(f"einsum: optimize must be {len(inputs) - 1} pairs of positions, got {optimize!r}")
        return [(min(step), max(step)) for step in steps]
    few = 0 if optimize in (False, "greedy") else _MOST_FOR_OPTIMAL if optimize == "optimal" else _MOST
    if 2 < len(inputs) <= few:
        return _cheapest(inputs, output, sizes)
    items = list(inputs)
    path: list[tuple[int, int]] = []
    while len(items) > 1:
        pairs = [(i, j) for j in range(1, len(items)) for i in range(j)]
        if optimize is False or len(items) == 2:
            best = (0, len(items) - 1) if path and optimize is False else (0, 1)
        else:
            best = min(pairs, key=lambda pair: _cost(items, pair, output, sizes))
        i, j = best
        rest = [labels for k, labels in enumerate(items) if k not in best]
        items = [*rest, _kept(items[i], items[j], [*rest, output])]
        path.append(best)
    return path


_MOST, _MOST_FOR_OPTIMAL = 6, 10


def _cheapest(inputs: list[Labels], output: Labels, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """The order of fewest operations: for each set of operands, the best split into two subsets."""
    every = (1 << len(inputs)) - 1
    kept: dict[int, frozenset[str]] = {}
    best: dict[int, tuple[int, int]] = {}  # for each set, the operations and one subset of the last split
    for members in sorted(range(1, every + 1), key=int.bit_count):
        inside, outside = set[str](), set(output)
        for i, labels in enumerate(inputs):
            (inside if members >> i & 1 else outside).update(labels)
        if members.bit_count() == 1:
            kept[members], best[members] = frozenset(inside), (0, 0)
            continue
        kept[members] = frozenset(inside & outside)
        ways = []
        part = (members - 1) & members
        while part:
            rest = members ^ part
            if part > rest:
                together = kept[part] | kept[rest]
                cost = _operations(together, together != kept[members], 2, sizes)
                ways.append((best[part][0] + best[rest][0] + cost, part))
            part = (part - 1) & members
        best[members] = min(ways)

    items = [1 << i for i in range(len(inputs))]
    path: list[tuple[int, int]] = []

    def multiply(members: int) -> None:
        part = best[members][1]
        if not part:
            return
        parts = part, members ^ part
        for subset in parts:
            multiply(subset)
        i, j = sorted(map(items.index, parts))
        del items[j], items[i]
        items.append(members)
        path.append((i, j))

    multiply(every)
    return path


def _is_pair(step: tuple[int, ...], count: int) -> bool:
    return len(step) == 2 and step[0] != step[1] and min(step) >= 0 and max(step) < count


def _cost(items: list[Labels], pair: tuple[int, int], output: Labels, sizes: dict[str, int]) -> tuple[int, int]:
    """The memory of a product beyond its operands, then the number of multiplications."""
    x, y = (items[k] for k in pair)
    rest = [labels for k, labels in enumerate(items) if k not in pair]

    def size(labels: Any) -> int:
        return math.prod([sizes[label] for label in labels])

    return size(_kept(x, y, [*rest, output])) - size(x) - size(y), size({*x, *y})
