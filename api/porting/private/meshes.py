"""Functions of JAX that create meshes, with JAX's defaults."""

from __future__ import annotations

from typing import Any

import primax as px
from primax.sharding import AxisType, Mesh

__all__ = ["make_mesh"]


def make_mesh(axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None) -> Mesh:
    """`primax.make_mesh`, with `Explicit` axes by default, as in JAX."""
    return px.make_mesh(
        axis_shapes, axis_names, AxisType.Explicit if axis_types is None else axis_types, devices=devices
    )
