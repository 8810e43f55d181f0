"""Linear algebra under numpy.linalg's names: the functions of `primax.numpy.linalg`."""

from __future__ import annotations

from primax.numpy import linalg as _linalg
from primax.numpy.linalg import *

__all__: list[str] = []
__all__ += _linalg.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
