"""Samples of operations that leave values unchanged, on a mesh of one device."""

from __future__ import annotations

from primax.extend import core
from primax.extend.provisional.sampling import numbers
from primax.extend.sharding import AbstractMesh, AxisType
from primax.plugins.resharding import forget_p, reshard_p


def _samples() -> list[core.Sample]:
    mesh = AbstractMesh((1,), ("x",), AxisType.Explicit)
    x = numbers((2, 2))
    return [core.Sample([x], {"mesh": mesh, "axes": ((), ())}, reference=lambda x, **params: x)]


SAMPLES = {
    reshard_p: _samples,
    forget_p: core.Sample([numbers((2,))], {"mesh": None, "mapped": ()}, reference=lambda x, **params: x),
}
