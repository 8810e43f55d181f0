"""Types for annotations of arrays, array-like arguments, dtypes, shapes, axes, devices and shardings."""

from primax.extend.provisional.typing import (
    ArrayLike,
    Arrays,
    Axes,
    AxisNames,
    Device,
    DeviceLike,
    DTypeLike,
    KeyLike,
    Shape,
    ShapeLike,
    ShardingLike,
    SupportsDType,
)

__all__ = [
    "ArrayLike",
    "Arrays",
    "Axes",
    "AxisNames",
    "DTypeLike",
    "Device",
    "DeviceLike",
    "KeyLike",
    "Shape",
    "ShapeLike",
    "ShardingLike",
    "SupportsDType",
]
__dir__ = __all__.copy
