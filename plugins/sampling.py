"""Samples of primitives that take one array."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from primax.extend.core import Sample
from primax.plugins.elementwise import Accepts

__all__ = ["array_samples"]


def array_samples(
    accepts: Accepts, reference: Callable[..., Any], *ways: dict[str, Any], shape: tuple[int, ...] = (3, 4)
) -> Callable[[], list[Sample]]:
    """Arrays of each kind of dtype that is accepted, each in another way.

    Args:
      accepts: the dtypes.
      reference: the same in NumPy.
      ways: parameters.
      shape: of the arrays.

    Returns:
      A function that makes the samples.
    """

    def make() -> list[Sample]:
        x = 2 * np.sin(np.arange(1, np.prod(shape) + 1)).reshape(shape)
        kinds = [np.float32(x), np.complex64(x + 1j * x[::-1]), np.int32(8 * x), x > 0]
        taken = [x for x in kinds if x.dtype in accepts]
        return [Sample([x], way, reference=reference) for x, way in zip(taken, cycle(ways), strict=False)]

    return make
