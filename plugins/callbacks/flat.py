"""Python functions of trees of arrays, as functions of flat arrays that a primitive can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.core import tree
from primax.extend.interpreters import batching
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import name_of
from primax.extend.provisional.avals import ExtendedArray, has_extended_dtype, physical_aval
from primax.extend.provisional.lowering import host_results
from primax.extend.provisional.tracing import escaped


@dataclass(frozen=True, slots=True)
class FlatCallback:
    """A function of the leaves of its arguments, which returns the leaves of its result.

    Attributes:
      function: the user's function; it receives arrays on a CPU.
      user: the name of the primax function that took it, for messages.
      in_tree: the structure of `(args, kwargs)`.
      out_tree: the structure of the result; None if the result is ignored.
      static: positions and values of leaves that are not arrays, in order.
    """

    function: Any
    user: str
    in_tree: Any
    out_tree: Any = None
    static: tuple[tuple[int, Any], ...] = ()

    def __call__(self, *flat: Any) -> list[Any]:
        leaves = [_as_array(x) for x in flat]
        for i, leaf in self.static:
            leaves.insert(i, leaf)
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        result = self.function(*args, **kwargs)
        return [] if self.out_tree is None else tree.flatten(result)[0]

    def label(self, i: int) -> str:
        """The name of the `i`-th leaf of the result in messages."""
        numbered = tree.unflatten(self.out_tree, range(self.out_tree.num_leaves))
        path = tree.keystr(tree.tree_leaves_with_path(numbered)[i][0])
        return f"{self.user}: output{path} of {_name(self.function)}"

    def __repr__(self) -> str:
        return repr(self.function)


@dataclass(frozen=True, slots=True)
class OneByOne:
    """A callback for each element along the first axis of its arguments, in order.

    Attributes:
      callback: the callback for one element.
      mapped: for each argument whether it has that axis.
      size: the number of elements.
      result_avals: the types of the callback's results.
    """

    callback: Any
    mapped: tuple[bool, ...]
    size: int
    result_avals: tuple[Any, ...]

    def __call__(self, *flat: Any) -> list[Any]:
        stacks = [_elements(x) if m else x for x, m in zip(flat, self.mapped, strict=True)]
        types = map(physical_aval, self.result_avals)
        results = [np.empty((self.size, *aval.shape), aval.dtype) for aval in types]
        for i in range(self.size):
            outs = self.callback(*(x[i] if m else x for x, m in zip(stacks, self.mapped, strict=True)))
            for result, x in zip(results, host_results(outs, self.result_avals, self.label), strict=True):
                result[i] = x
        return list(map(_stack, results, self.result_avals))

    def label(self, i: int) -> str:
        """The name of the `i`-th result in messages."""
        return self.callback.label(i)

    def __repr__(self) -> str:
        return f"one_by_one({self.callback!r})"


def _elements(x: Any) -> list[ExtendedArray] | np.ndarray:
    """The elements along the first axis of an argument, for indexing."""
    if type(x) is ExtendedArray:
        return [ExtendedArray.of_elements(element, x.dtype) for element in np.asarray(x.base)]
    return np.asarray(x)


def _stack(elements: np.ndarray[Any, Any], aval: Any) -> Any:
    """The inverse of `_elements`, for results of a type."""
    return ExtendedArray.of_elements(elements, aval.dtype) if has_extended_dtype(aval) else elements


def one_by_one(
    callback: Any, args: Sequence[Any], dims: Sequence[Any], result_avals: Sequence[Any]
) -> tuple[OneByOne, list[Any], tuple[Any, ...]]:
    """The callback, arguments and result types for a batch whose elements are processed one after the other."""
    size, moved = mapped_in_front(args, dims)
    mapped = tuple(dim is not None for dim in dims)
    outs = tuple(aval.unmapped(size, 0) for aval in result_avals)
    return OneByOne(callback, mapped, size, tuple(result_avals)), moved, outs


def mapped_in_front(args: Sequence[Any], dims: Sequence[Any]) -> tuple[int, list[Any]]:
    """The length of the mapped axis, and the arguments with that axis first, if they have it."""
    size = next(core.get_aval(x).shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
    return size, [x if dim is None else batching.moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]


def _as_array(x: Any) -> Any:
    """The argument of a callback as an array, on a CPU and without a weak type."""
    if type(x) is ExtendedArray:
        return x
    aval = core.get_aval(x)
    platform = backend.platform_of(backend.get_default_device())
    if type(x) is core.Array and not aval.weak_type and platform == "cpu":
        return x
    return runtime.put_value(np.asarray(x), device=None if platform == "cpu" else backend.devices("cpu")[0])


def run_eagerly(callback: Any, args: Sequence[Any], result_avals: Sequence[Any]) -> list[core.Array]:
    """The results of a callback that is called outside of programs.

    Raises:
      XlaError: it raised an error, or returned results other than promised.
    """
    device = backend.choose_device(args)
    try:
        results = host_results(flat_call(callback, args), result_avals, callback.label)
    except Exception as error:
        raise core.XlaError(f"{type(error).__name__}: {error}") from error
    committed = any(type(x) in (core.Array, ExtendedArray) and x.committed for x in args)
    arrays = [_stack(x, aval) for x, aval in zip(results, result_avals, strict=True)]
    return [runtime.put_value(x, device=device if committed else None) for x in arrays]


def flat_call(callback: Any, args: Sequence[Any]) -> list[Any]:
    """Call a callback with the arguments of a primitive in evaluation."""
    for x in args:
        if isinstance(x, core.Tracer):
            raise escaped(x)
    return callback(*args)


def require_callable(user: str, callback: Any) -> None:
    """Check that a value can be a callback.

    Raises:
      TypeError: it is not callable.
    """
    if not callable(callback):
        raise TypeError(f"{user}: callback must be callable, got {callback!r}")


def result_types(user: str, result_shape_dtypes: Any) -> tuple[tuple[core.ShapedArray, ...], Any]:
    """The types that a callback must return, and their structure.

    Raises:
      TypeError: a leaf has no shape or no dtype.
      ValueError: a dtype has 64 bits, which `enable_x64` does not allow.
    """
    leaves, out_tree = tree.flatten(result_shape_dtypes)
    avals = []
    for i, leaf in enumerate(leaves):
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or isinstance(leaf, type):
            path = tree.keystr(tree.tree_leaves_with_path(result_shape_dtypes)[i][0])
            raise TypeError(f"{user}: result_shape_dtypes{path} must have a shape and a dtype, got {leaf!r}")
        dtype = core.dtypes.canonicalize_dtype(leaf.dtype)
        if dtype != leaf.dtype:
            raise ValueError(
                f"{user}: result_shape_dtypes must have dtypes of up to 32 bits, unless enable_x64 is on, "
                f"got {leaf.dtype}"
            )
        avals.append(core.ShapedArray(leaf.shape, dtype))
    return tuple(avals), out_tree


def _name(function: Any) -> str:
    return name_of(function, repr(function))
