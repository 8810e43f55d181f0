"""Importing this module, before jax, makes `import jax` import primax in this process.

A name of JAX that primax does not have raises an error when a program uses it; the error names the alternative. The
command line runs unchanged programs: `primax as-jax script.py`, `primax as-jax -m pytest`.
"""

from __future__ import annotations

from primax.porting.process import install

__all__ = ["install"]

install()
