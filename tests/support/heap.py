"""A heap in which a garbage collection takes little time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Collections pass over the objects that exist already, of which other tests of the process may leave millions."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
