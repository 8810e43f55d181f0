"""Random numbers from keys."""

from __future__ import annotations

from typing import NewType

from primax.extend.lazy_names import explain_absent
from primax.interpreters.runtime.array import Array
from primax.plugins.random import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    random_gamma_p,
    split,
    wrap_key_data,
)
from primax.random import choices, counts, gammas, gaussian, integers, interval, inversion, vectors
from primax.random.choices import *
from primax.random.counts import *
from primax.random.gammas import *
from primax.random.gaussian import *
from primax.random.integers import *
from primax.random.interval import *
from primax.random.inversion import *
from primax.random.vectors import *

Key = NewType("Key", Array)  # a key of rank 0, for annotations

__all__ = [
    "Key",
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "random_gamma_p",
    "split",
    "wrap_key_data",
]
__dir__ = __all__.copy
explain_absent(__name__)

for _module in (choices, counts, gammas, gaussian, integers, interval, inversion, vectors):
    __all__ += _module.__all__
