"""Scaled dot-product attention (Vaswani et al., "Attention is all you need", 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, integers
from primax.extend.provisional.typing import ArrayLike, KeyLike
from primax.nn.arguments import inexact
from primax.nn.exponentials import logsumexp, softmax
from primax.numpy.contractions import einsum
from primax.numpy.conversion import asarray
from primax.numpy.promotion import boolean, cast
from primax.numpy.ranges import arange
from primax.numpy.selection import where
from primax.numpy.shaping import reshape
from primax.plugins.structural import stop_gradient

__all__ = ["dot_product_attention"]

# Masked logits get this fraction of the most negative number: their exponential is 0, and differences do not overflow.
_NEVER = -0.7


def dot_product_attention(
    query: ArrayLike,
    key: KeyLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> tuple[Array, Any] | Array:
    """Means of values, weighted by the softmax of scaled products of queries and keys.

    Axes: B batch, T query positions, S key positions, N query heads, K key heads, H features. N is a multiple of K. All
      arguments may lack the axis B.

    Args:
      query: an array of shape (B, T, N, H).
      key: an array of shape (B, S, K, H).
      value: an array of shape (B, S, K, H).
      bias: an array that is added to the scaled products; it broadcasts to (B, N, T, S).
      mask: a boolean array that broadcasts to (B, N, T, S); keys where it is false are ignored.
      scale: the factor of the products; 1 / sqrt(H) if None.
      is_causal: whether a query ignores keys at later positions.
      query_seq_lengths: the number of queries of each element of the batch, integers of shape (B,); results at later
        positions are 0.
      key_value_seq_lengths: the number of keys of each element of the batch, integers of shape (B,); later keys are
        ignored.
      local_window_size: the numbers of keys that a query uses before and after its own position; one number for both,
        or a pair.
      implementation: None or "xla", which mean the same.
      return_residual: whether to return the logarithms of the sums of exponentials too, of shape (B, T, N)
        and the dtype of the result.

    Returns:
      An array of the shape of `query`; if `return_residual`, a pair.

    Raises:
      ValueError: the shapes do not match, or `implementation` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> query, key = pnp.zeros((1, 2, 3, 4)), pnp.ones((1, 5, 1, 4))  # three query heads share a key head
      >>> value = pnp.arange(5.0).reshape(1, 5, 1, 1) * pnp.ones(4)
      >>> out = px.nn.dot_product_attention(query, key, value, is_causal=True)
      >>> out.shape, out[0, :, 0, 0]  # position 0 sees one value, position 1 the mean of two
      ((1, 2, 3, 4), Array([0. , 0.5], dtype=float32))
    """
    if not among(implementation, (None, "xla")):
        raise ValueError(f"dot_product_attention: implementation must be None or 'xla', got {implementation!r}")
    arrays = [inexact("dot_product_attention", x) for x in (query, key, value)]
    single = arrays[0].ndim == 3
    if single:
        arrays = [x[None] for x in arrays]
    queries, keys, values = arrays
    _check(queries, keys, values)
    batch, length, heads, features = queries.shape
    groups = keys.shape[2]
    split = reshape(queries, (batch, length, groups, heads // groups, features))
    logits = einsum("btkgh,bskh->bkgts", split, keys, preferred_element_type=_accumulator(queries.dtype))
    logits = logits * (1 / math.sqrt(features) if scale is None else scale)
    full = (batch, groups, heads // groups, length, keys.shape[1])
    if bias is not None:
        logits = logits + _by_group(asarray(bias), groups)
    keep = _visible(full, is_causal, query_seq_lengths, key_value_seq_lengths, local_window_size)
    if mask is not None:
        masked = _by_group(asarray(boolean(mask)), groups)
        keep = masked if keep is None else keep & masked
    if keep is not None:
        logits = where(keep, logits, np.asarray(_NEVER * float(dtypes.finfo(logits.dtype).max), logits.dtype))
    weights = cast(softmax(logits), keys.dtype)
    out = reshape(einsum("bkgts,bskh->btkgh", weights, values), queries.shape)
    if query_seq_lengths is not None:
        inside = arange(length)[None, :] < asarray(query_seq_lengths)[:, None]
        out = out * cast(inside, out.dtype)[:, :, None, None]
    if not return_residual:
        return out[0] if single else out
    sums = stop_gradient(reshape(logsumexp(logits, -1), (batch, heads, length)).swapaxes(1, 2))
    sums = cast(sums, out.dtype)
    return (out[0], sums[0]) if single else (out, sums)


def _check(query: Any, key: Any, value: Any) -> None:
    shapes = [get_aval(x).str_short() for x in (query, key, value)]
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"dot_product_attention: query, key and value must be of rank 4, or all of 3, got {shapes}")
    if key.shape != value.shape:
        raise ValueError(
            f"dot_product_attention: key and value must have the same shape, got {shapes[1]} and {shapes[2]}"
        )
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ValueError(
            f"dot_product_attention: query and key must agree in the first and last axis, got {shapes[0]} "
            f"and {shapes[1]}"
        )
    if not key.shape[2] or query.shape[2] % key.shape[2]:
        raise ValueError(
            f"dot_product_attention: the heads of query must be a multiple of those of key, got {query.shape[2]} "
            f"and {key.shape[2]}"
        )


def _accumulator(dtype: Any) -> Any:
    """The dtype in which products are accumulated."""
    return np.dtype(np.float32) if dtypes.itemsize_bits(dtype) < 32 else dtype


def _by_group(x: Any, groups: int) -> Array:
    """Reshape an array that broadcasts to (B, N, T, S), so that it broadcasts to (B, K, N / K, T, S)."""
    x = x[(None,) * (4 - x.ndim)]
    heads = x.shape[1]
    parts = (1, 1) if heads == 1 else (groups, heads // groups)
    return reshape(x, (x.shape[0], *parts, *x.shape[2:]))


def _visible(shape: Any, causal: bool, queries: Any, keys: Any, window: Any) -> Array | None:
    """A mask of the keys that each query uses; None if all queries use all keys."""
    places = arange(shape[3])[None, None, None, :, None], arange(shape[4])[None, None, None, None, :]
    conditions: list[Any] = []
    if causal:
        conditions.append(places[0] >= places[1])
    if window is not None:
        window = window if isinstance(window, tuple) else (window, window)
        sizes = integers(window, "dot_product_attention", "local_window_size")
        if len(sizes) != 2:
            raise ValueError(f"dot_product_attention: local_window_size must be one number or two, got {window}")
        before, after = sizes
        distance = places[1] - places[0]
        conditions.append((distance >= -before) & (distance <= after))
    if queries is not None:
        conditions.append(places[0] < asarray(queries)[:, None, None, None, None])
    if keys is not None:
        conditions.append(places[1] < asarray(keys)[:, None, None, None, None])
    keep = None
    for condition in conditions:
        keep = condition if keep is None else keep & condition
    return keep
