"""What packages use of `jax._src.distributed`, beside the names of `primax.distributed`."""

from __future__ import annotations

from typing import Any

from primax.interpreters import platforms

__all__ = ["global_state"]


class _State:
    """This process among those that it has joined."""

    @property
    def client(self) -> Any:
        """The client of the service by which processes meet; None if this one is alone."""
        return getattr(platforms.joined.runtime, "client", None)

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return platforms.process_index()

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        return platforms.process_count()


global_state = _State()
