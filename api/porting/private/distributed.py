"""The names of `jax._src.distributed` that packages use, besides the names of `primax.distributed`."""

from __future__ import annotations

from typing import Any

from primax.interpreters.runtime.devices import backends

__all__ = ["global_state"]


class _State:
    """The state of this process in a distributed program."""

    @property
    def client(self) -> Any:
        """The client of the coordination service; None for a single process."""
        return getattr(backends.joined.runtime, "client", None)

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return backends.process_index()

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        return backends.process_count()


global_state = _State()
