"""Several processes that compute together."""

from __future__ import annotations

from primax.interpreters.runtime.devices.distributed import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
__dir__ = __all__.copy
