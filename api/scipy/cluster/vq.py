"""Vector quantization under scipy.cluster.vq's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.promotion import promote

__all__ = ["vq"]
__dir__ = __all__.copy


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code to each observation.

    Args:
      obs: vectors, an array of shape (m, n); or numbers, of shape (m,).
      code_book: codes, an array of shape (k, n); or numbers, of shape (k,).
      check_finite: ignored.

    Returns:
      The positions of the codes, of shape (m,), and the Euclidean distances to them.

    Raises:
      TypeError: an argument is not an array.
      ValueError: the ranks or lengths differ, or `code_book` is empty.

    >>> import primax as px
    >>> code, distance = px.scipy.cluster.vq.vq(px.numpy.array([1.1, 3.9]), px.numpy.array([1.0, 2.0, 4.0]))
    >>> code.tolist()
    [0, 2]
    """
    obs, code_book = (pnp.asarray(x) for x in promote("vq", obs, code_book, to=dtypes.to_inexact_dtype))
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2):
        raise ValueError(f"vq: obs and code_book must both be of rank 1 or 2, got {obs.shape} and {code_book.shape}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ValueError(f"vq: code_book must have vectors of length {obs.shape[1]}, got {code_book.shape[1]}")
    if not code_book.shape[0]:
        raise ValueError(f"vq: code_book must have codes, got shape {code_book.shape}")
    parts = pnp.abs(obs[:, None, :] - code_book[None, :, :])
    if not parts.shape[-1]:
        raise ValueError(f"vq: obs must have vectors of elements, got {obs.shape}")
    # Relative to the largest part, whose square might overflow.
    largest = pnp.max(parts, axis=-1, keepdims=True)
    usable = (largest > 0) & (largest < np.inf)
    divisor = pnp.where(usable, largest, 1)
    square = pnp.sum(pnp.square(parts / divisor), axis=-1)
    # The derivative at a code is 0.
    away = pnp.where(square == 0, 0, pnp.sqrt(pnp.where(square == 0, 1, square))) * divisor[..., 0]
    code = pnp.argmin(away, axis=-1).astype(np.int32)
    return code, pnp.min(away, axis=-1)
