"""Linear algebra under numpy.linalg's names: the functions of `primax.numpy.linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.numpy import linalg as _linalg
from primax.numpy.linalg import *

if not TYPE_CHECKING:  # they re-export what they import by name
    __all__: list[str] = []
    __dir__ = __all__.copy
    __all__ += _linalg.__all__
