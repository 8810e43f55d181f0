"""Samples of programs on a mesh of one device, with and without communication."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.sampling import numbers
from primax.extend.sharding import Mesh, PartitionSpec, manual_scope
from primax.plugins.collectives import psum
from primax.plugins.sharding.drawing import inspect_sharding_p
from primax.plugins.sharding.parts import part_aval
from primax.plugins.sharding.shard_map import shard_map_p
from primax.plugins.structural import expand_dims

__all__ = ["SAMPLES"]


def _ignored(sharding: Any) -> None:
    """A callback for samples."""


def _inspected() -> list[core.Sample]:
    return [core.Sample([numbers((2, 3))], {"callback": _ignored})]


def _mapped() -> list[core.Sample]:
    """A program with and without communication, on a mesh of one device."""
    mesh, x, y = Mesh([backend.default_device()], "i"), np.array([[0.3, -1.2], [2.6, 1.7]]), np.array([1.5, -0.4])
    mul = core.primitives.mul_p.bind

    def sample(name: str, checked: bool, fun: Any) -> core.Sample:
        parts = [
            part_aval(mesh, spec, core.get_aval(v), checked, ("i",)) for spec, v in zip(specs, (x, y), strict=True)
        ]
        with manual_scope(mesh, ("i",), checked):
            program = core.trace_to_jaxpr(fun, parts)
        params = {"jaxpr": program, "mesh": mesh, "in_specs": specs, "manual_axes": ("i",), "check_vma": checked}
        return core.Sample([x, y], {**params, "out_specs": (PartitionSpec("i"), PartitionSpec())}, name)

    specs = (PartitionSpec("i"), PartitionSpec())
    with core.config.enable_x64(True):
        return [
            sample("types tell", True, lambda x, y: [mul(mul(x, x), expand_dims(y, (0,))), psum(x, "i")]),
            sample("types tell nothing", False, lambda x, y: [mul(x, x), psum(mul(y, y), "i")]),
        ]


SAMPLES = {
    inspect_sharding_p: _inspected,
    shard_map_p: _mapped,
}
