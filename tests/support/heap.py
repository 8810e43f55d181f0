"""The memory of a test process: its size, and a heap in which a garbage collection takes little time."""

from __future__ import annotations

import ctypes
import gc
import mmap
import resource
from pathlib import Path

_STATM = Path("/proc/self/statm")
_MAPS = Path("/proc/self/maps")


def freeze_heap() -> None:
    """Let collections pass over the objects that exist already, of which other tests of the process left millions."""
    gc.collect()
    gc.freeze()


def resident_memory() -> int:
    """The memory that this process holds, in bytes; where the system does not say it, the most that it has held."""
    if _STATM.exists():
        return int(_STATM.read_bytes().split()[1]) * mmap.PAGESIZE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def mappings() -> int:
    """The number of mappings of memory of this process; 0 where the system does not say it."""
    return _MAPS.read_bytes().count(b"\n") if _MAPS.exists() else 0


def release_free_memory() -> None:
    """Give the memory that is free in the heap of C back to the system, where the C library can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):  # other systems do it by themselves
        return
