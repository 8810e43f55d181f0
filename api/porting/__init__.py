"""What each name of JAX is in primax, the rewriting of sources by it, and `import jax` that means primax."""

from __future__ import annotations

from primax.porting.table import Table, table

__all__ = ["Table", "table"]
