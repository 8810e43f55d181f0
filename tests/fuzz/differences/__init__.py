"""Where primax differs from jax on purpose: the one table, each entry with its reason.

entry.py           what an entry says
jax_refuses.py     what primax computes and jax refuses
primax_refuses.py  what primax refuses and jax computes
values.py          other values, NaN and shapes
dtypes.py          other types and dtypes
weak_types.py      other weak types
releases.py        what some releases of jax do, and others do not
"""

from __future__ import annotations

from fuzz.compare import Difference
from fuzz.differences.dtypes import DTYPES
from fuzz.differences.jax_refuses import JAX_REFUSES
from fuzz.differences.primax_refuses import PRIMAX_REFUSES
from fuzz.differences.releases import RELEASES
from fuzz.differences.values import THE_STANDARD, VALUES
from fuzz.differences.weak_types import WEAK_TYPES

MEANT = RELEASES + VALUES + WEAK_TYPES + JAX_REFUSES + PRIMAX_REFUSES + DTYPES + THE_STANDARD


def is_meant(path: str, text: str, difference: Difference) -> bool:
    """Whether the table has the difference."""
    return any(meant.holds(path, text, difference) for meant in MEANT)
