"""Linear algebra under numpy.linalg's names: the functions of `primax.numpy.linalg`."""

from __future__ import annotations

from primax.numpy import linalg as _linalg
from primax.numpy.linalg import *

__all__: list[str] = []
__dir__ = __all__.copy
__all__ += _linalg.__all__
