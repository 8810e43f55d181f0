"""Segment reductions: sums, products, minima and maxima of elements with the same segment number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, Tracer, concrete_or_error, get_aval
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import integer, rename
from primax.extend.provisional.typing import ArrayLike, ShardingLike
from primax.numpy.promotion import host_values, number_aval
from primax.numpy.reductions import FLOAT32, is_half, limit
from primax.plugins.resharding import resharded

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
__dir__ = __all__.copy
explain_absent(__name__)

_ARGS = """

    Args:
      data: an array of shape (n, ...), or an array or number that broadcasts along the first axis.
      segment_ids: integers of shape (n,), the segment of each element. They need not be sorted; a segment may be empty.
      num_segments: the number of segments; if None, the largest element of `segment_ids` plus 1, and `segment_ids` must
        then not be traced.
      indices_are_sorted: a promise that `segment_ids` ascend.
      unique_indices: a promise that `segment_ids` are unique.
      bucket_size: the number of elements per bucket; each bucket is reduced first, then the results, which reduces
        rounding errors. None for one bucket.
      mode: the treatment of elements whose segment is out of range: "drop", the default, ignores them; "clip" assigns
        them to the nearest segment; see `docs/guide/out-of-range.md`. Negative segments are out of range.
      out_sharding: the sharding of the result along explicit axes of a mesh; inferred if None.

    Returns:
      An array of shape (num_segments, *data.shape[1:]) and the dtype of `data`.

    Raises:
      TypeError: `data` is not an array{booleans}; `segment_ids` are not integers.
      ValueError: the shapes do not agree, `num_segments` is negative, `bucket_size` is not positive, or
        `num_segments` is None and `segment_ids` are empty; ConcretizationTypeError if they are traced.
{example}    """


def _count(function: str, segment_ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        if isinstance(segment_ids, Tracer):
            text = f"{function}: num_segments must be given where segment_ids are traced, got None"
            concrete_or_error(None, segment_ids, text, "Pass a static num_segments.")
        if not get_aval(segment_ids).size:
            raise ValueError(f"{function}: num_segments must be given where segment_ids are empty, got None")
        return max(int(np.max(host_values(segment_ids))) + 1, 0)
    count = integer(function, "num_segments", num_segments)
    if count < 0:
        raise ValueError(f"{function}: num_segments must not be negative, got {count}")
    return count


def _checked(function: str, data: Any, segment_ids: Any, booleans: bool) -> tuple[Any, Any]:
    for name, value in (("data", data), ("segment_ids", segment_ids)):
        if isinstance(value, list | tuple):
            raise TypeError(f"{function}: {name} must be an array or a number, got {type(value).__name__}")
    data, segment_ids = pnp.asarray(data), pnp.asarray(segment_ids)
    aval, ids = get_aval(data), get_aval(segment_ids)
    if aval.dtype == np.bool_ and not booleans:
        raise TypeError(f"{function}: data must be numbers, got {aval.str_short()}")
    if not dtypes.is_integer(ids.dtype):
        raise TypeError(f"{function}: segment_ids must be integers, got {ids.str_short()}")
    if len(ids.shape) == 1 and aval.shape[:1] in ((), (1,)):
        data = pnp.broadcast_to(data, (*ids.shape, *aval.shape[1:]))
        aval = get_aval(data)
    if len(ids.shape) > 1 or ids.shape != aval.shape[: len(ids.shape)]:
        raise ValueError(
            f"{function}: segment_ids must have the shape of data's first axis, got {ids.str_short()} "
            f"for {aval.str_short()}"
        )
    return data, segment_ids


if TYPE_CHECKING:

    class Segments(Protocol):
        """A reduction of segments."""

        def __call__(
            self,
            data: ArrayLike,
            segment_ids: ArrayLike,
            num_segments: int | None = None,
            indices_are_sorted: bool = False,
            unique_indices: bool = False,
            bucket_size: int | None = None,
            mode: str | None = None,
            *,
            out_sharding: ShardingLike | None = None,
        ) -> Array: ...


def _segments(
    name: str, sentence: str, method: str, start: Callable[[Any], Any], reduce: str, booleans: bool, example: str = ""
) -> Segments:
    function = f"segment_{name}"

    def segments(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | None = None,
        *,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        out = reduced(
            data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size=bucket_size, mode=mode
        )
        return out if out_sharding is None else resharded(function, out, out_sharding)

    def reduced(
        data: Any,
        segment_ids: Any,
        num_segments: int | None,
        indices_are_sorted: bool,
        unique_indices: bool,
        *,
        bucket_size: int | None,
        mode: Any,
    ) -> Array:
        data, segment_ids = _checked(function, data, segment_ids, booleans)
        count = _count(function, segment_ids, num_segments)
        aval, ids = get_aval(data) if reduce == "sum" else number_aval(function, data), get_aval(segment_ids)
        options = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": mode,
            "wrap_negative_indices": False,
        }
        if reduce in ("sum", "prod") and is_half(aval.dtype):
            wide = data.astype(FLOAT32)
            args = (num_segments, indices_are_sorted, unique_indices)
            return reduced(wide, segment_ids, *args, bucket_size=bucket_size, mode=mode).astype(aval.dtype)
        initial, rest = start(aval.dtype), aval.shape[len(ids.shape) :]
        if not count:
            return pnp.zeros((0, *rest), aval.dtype)
        if bucket_size is None:
            empty = pnp.full((count, *rest), initial, aval.dtype)
            return getattr(empty.at[segment_ids], method)(data, **options)
        size = integer(function, "bucket_size", bucket_size)
        if size < 1:
            raise ValueError(f"{function}: bucket_size must be positive, got {size}")
        length = ids.shape[0] if ids.shape else 1
        bucket = pnp.arange(length) // size
        empty = pnp.full((-(-length // size), count, *rest), initial, aval.dtype)
        buckets = getattr(empty.at[bucket, segment_ids.reshape(length)], method)
        options["indices_are_sorted"] = options["unique_indices"] = False
        partial = buckets(data.reshape((length, *rest)), **options)
        return getattr(pnp, reduce)(partial, axis=0).astype(aval.dtype)

    rename(segments, function)
    segments.__doc__ = sentence + _ARGS.format(booleans="" if booleans else " of numbers", example=example)
    return segments


segment_sum = _segments(
    "sum",
    "The sum of each segment.",
    "add",
    lambda dtype: 0,
    "sum",
    False,
    """
    >>> import primax as px
    >>> px.ops.segment_sum(px.numpy.array([1.0, 2.0, 4.0]), px.numpy.array([0, 2, 0]), num_segments=3)
    Array([5., 0., 2.], dtype=float32)
""",
)
segment_prod = _segments(
    "prod", "The product of each segment, 1 where it has no element.", "multiply", lambda dtype: 1, "prod", False
)
segment_max = _segments(
    "max",
    "The maximum of each segment, the lowest value of the dtype where it has none.",
    "max",
    partial(limit, lowest=True),
    "max",
    True,
)
segment_min = _segments(
    "min",
    "The minimum of each segment, the highest value of the dtype where it has none.",
    "min",
    partial(limit, lowest=False),
    "min",
    True,
)
