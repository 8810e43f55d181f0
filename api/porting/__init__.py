"""The counterparts of JAX's names in primax, the rewriting of sources, and the stand-in for `import jax`."""

from __future__ import annotations

from primax.porting.table import Table, table

__all__ = ["Table", "table"]
