"""Communication between processes: `primax.multihost` under JAX's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax import multihost as _multihost
from primax.extend.lazy_names import explain_absent
from primax.multihost import *

if not TYPE_CHECKING:  # type checkers see what is imported with `*`
    __all__: list[str] = []
    __dir__ = __all__.copy
    explain_absent(__name__)
    __all__ += _multihost.__all__
