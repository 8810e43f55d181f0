"""Guards for processes made by `os.fork`: they lack XLA's threads, so a computation would hang."""

from __future__ import annotations

import os
from typing import Any

from primax.core._jaxlib import ArrayImpl, Config, batched_block_until_ready
from primax.core.trace_state import fast_path_blockers

# Whether this process was forked; hot paths read it before they call `require_own_process`. It is part of the key of
# jaxlib's dispatch cache, so every call in a forked process reaches Python first.
forked = Config("primax_forked", False, include_in_jit_key=True, include_in_trace_context=False)
_has_threads = False

await_buffer: Any = ArrayImpl.block_until_ready
"""Waits until a buffer is computed; raises in a forked process if it is not."""

_by_xla = await_buffer


def await_buffers(buffers: list[Any]) -> None:
    """Wait until several buffers are computed: by one call of XLA, unless another function awaits buffers."""
    if await_buffer is _by_xla:
        batched_block_until_ready(buffers)
    else:
        for b in buffers:
            await_buffer(b)


def note_threads() -> None:
    """Record that this process has threads of XLA or MLIR, which a fork does not copy."""
    global _has_threads
    _has_threads = True


def require_own_process() -> None:
    """Raise an error in a process that was forked after XLA had started.

    Raises:
      RuntimeError: the process is such a fork.
    """
    if forked.value:
        raise RuntimeError(
            "this process was forked (os.fork) from a process that had used XLA. A fork does not copy the threads of "
            "XLA, so a computation here would hang. Start processes by multiprocessing.get_context('spawn'), or fork "
            "before primax computes anything"
        )


def is_forked() -> bool:
    """Whether this process was forked after XLA had started."""
    return bool(forked.value)


def _await_in_child(b: Any) -> None:
    if not b.is_ready():
        require_own_process()
    ArrayImpl.block_until_ready(b)


def _after_in_child() -> None:
    global await_buffer
    if _has_threads:
        forked.set_global(True)
        fast_path_blockers.append(forked)
        await_buffer = _await_in_child


os.register_at_fork(after_in_child=_after_in_child)
