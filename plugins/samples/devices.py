"""Samples of transfers to one device."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.provisional.sampling import numbers
from primax.extend.provisional.sharding import Layout, sharding_of
from primax.extend.sharding import Mesh, NamedSharding, PartitionSpec
from primax.plugins.devices import device_put_p, layout_constraint_p, sharding_constraint_p


def _samples() -> list[core.Sample]:
    def same(x: Any, **params: Any) -> Any:
        return x

    return [
        core.Sample([numbers((2, 2))], {"device": None}, reference=same),
        core.Sample([numbers((3,), np.int32)], {"device": sharding_of(backend.get_default_device())}, reference=same),
    ]


def _constraint_samples() -> list[core.Sample]:
    sharding = NamedSharding(Mesh([backend.get_default_device()], "x"), PartitionSpec())
    x = numbers((2, 2))
    return [core.Sample([x], {"sharding": sharding}, reference=lambda x, sharding: x)]


def _layout_samples() -> list[core.Sample]:
    return [core.Sample([numbers((2, 3))], {"layout": Layout((1, 0))}, reference=lambda x, layout: x)]


SAMPLES = {
    layout_constraint_p: _layout_samples,
    device_put_p: _samples,
    sharding_constraint_p: _constraint_samples,
}
