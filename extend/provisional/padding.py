"""The padding of convolutions, and the sizes of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import ConcretizationTypeError
from primax.extend.dimensions import max_dim
from primax.extend.provisional.arguments import among, integers, nearest
from primax.extend.provisional.dimensions import as_size

__all__ = ["dilated", "explicit_padding", "named_padding", "padtype_to_pads", "result_size", "transposed_padding"]

Pads = tuple[tuple[int, int], ...]


def dilated(size: int, dilation: int) -> int:
    """The length of an axis with `dilation - 1` holes between any two elements."""
    return (size - 1) * dilation + 1 if size else 0


def result_size(size: int, window: int, stride: int) -> int:
    """The number of positions of a window along an axis; sizes include padding and dilation."""
    return max_dim((size - window) // stride + 1, 0)  # type: ignore[no-any-return]


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """The padding before and after each axis for a named kind of padding.

    Args:
      in_shape: the lengths of the axes.
      window_shape: the lengths of the window.
      window_strides: the steps of the window.
      padding: 'VALID' for none; 'SAME' for a result of length `ceil(size / stride)`, with an odd element of padding
        after the axis; 'SAME_LOWER' for the same with the odd element before it. Case does not matter.

    Raises:
      TypeError: `padding` is not a string.
      ValueError: it is another string, or the sequences are not of the same length.

    >>> import primax as px
    >>> px.lax.padtype_to_pads((8, 9), (3, 4), (2, 2), "SAME")
    [(0, 1), (1, 2)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"padtype_to_pads: padding must be a string, got {padding!r}")
    in_shape = integers(in_shape, "padtype_to_pads", "in_shape")
    window_shape = integers(window_shape, "padtype_to_pads", "window_shape")
    window_strides = integers(window_strides, "padtype_to_pads", "window_strides")
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ValueError(
            "padtype_to_pads: in_shape, window_shape and window_strides must have the same length, "
            f"got {len(in_shape)}, {len(window_shape)} and {len(window_strides)}"
        )
    return named_padding("padtype_to_pads", in_shape, window_shape, window_strides, padding)


class PaddingError(ValueError, RuntimeError):
    """No padding has this name; in JAX this is a RuntimeError."""


def named_padding(
    function: str, in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """`padtype_to_pads` with another function name in errors, for sequences of the same length."""
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if not among(kind, ("SAME", "SAME_LOWER")):
        similar = nearest(kind, ("VALID", "SAME", "SAME_LOWER"))
        raise PaddingError(
            f"{function}: padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs, got {padding!r}{similar}"
        )
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        size, window, stride = map(as_size, (size, window, stride))
        total = max_dim((-(-size // stride) - 1) * stride + window - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if kind == "SAME" else (more, less))
    return pads


def explicit_padding(padding: Any, function: str) -> Pads:
    """Pairs of ints.

    Raises:
      TypeError: `padding` is not a sequence of pairs of ints.
    """
    try:
        return tuple([(as_size(low), as_size(high)) for low, high in padding])
    except ConcretizationTypeError:
        raise
    except (TypeError, ValueError):
        raise TypeError(
            f"{function}: padding must be 'SAME', 'SAME_LOWER', 'VALID' or a sequence of pairs (low, high) of "
            f"integers, got {padding!r}"
        ) from None


def transposed_padding(window: int, stride: int, full: bool) -> tuple[int, int]:
    """The padding of a transposed convolution along one axis with `stride - 1` holes between elements.

    The result contains every position that the window touches, or, if not `full`, has `stride` times the length of the
    axis.
    """
    if full:
        return window - 1, max(window, stride) - 1
    total = window + stride - 2
    low = window - 1 if stride >= window else -(-total // 2)
    return low, total - low
