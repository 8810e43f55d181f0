"""Samples of programs on a mesh of one device, with and without communication."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.provisional.sampling import numbers
from primax.extend.provisional.sharding import manual_scope
from primax.extend.sharding import Mesh, NamedSharding, PartitionSpec
from primax.plugins.collectives import psum
from primax.plugins.sharding.custom_partitioning import custom_partitioning_p
from primax.plugins.sharding.drawing import inspect_sharding_p
from primax.plugins.sharding.notation import parse_rule
from primax.plugins.sharding.parts import part_aval
from primax.plugins.sharding.shard_map import shard_map_p
from primax.plugins.structural import expand_dims


def _ignored(sharding: Any) -> None:
    """A callback for samples."""


def _inspected() -> list[core.Sample]:
    return [core.Sample([numbers((2, 3))], {"callback": _ignored})]


def _mapped() -> list[core.Sample]:
    """A program with and without communication, on a mesh of one device."""
    mesh, x, y = Mesh([backend.get_default_device()], "i"), np.array([[0.3, -1.2], [2.6, 1.7]]), np.array([1.5, -0.4])
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


def _partitioned() -> list[core.Sample]:
    x = numbers((2, 3))
    call = core.trace_to_jaxpr(lambda x: [core.primitives.sin_p.bind(x)], [core.get_aval(x)])
    structure = core.tree.flatten(((0,), {}))[1], core.tree.flatten(0)[1]
    rules = {"partition": _undivided, "infer_sharding_from_operands": None, "propagate_user_sharding": None}
    params = {"call": call, "in_tree": structure[0], "out_tree": structure[1], "static_args": (), **rules}
    return [core.Sample([x], {**params, "decode_shardings": True, "sharding_rule": parse_rule("i j -> i j")})]


def _undivided(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
    """A partition for samples, which run on one device."""
    sharding = NamedSharding(mesh, PartitionSpec())
    return mesh, core.primitives.sin_p.bind, sharding, sharding


SAMPLES = {
    custom_partitioning_p: _partitioned,
    inspect_sharding_p: _inspected,
    shard_map_p: _mapped,
}
