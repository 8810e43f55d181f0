"""Communication along named axes, and placement on devices, in the real jax."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core.jaxpr import JaxprEqn
from primax.core.trace_state import thread

__all__ = ["Handler", "axes_of_jax", "mesh_handlers"]

Handler = Callable[[JaxprEqn, list[Any]], Sequence[Any]]


@contextmanager
def axes_of_jax(modules: Any) -> Iterator[None]:
    """A `with` block in which the named axes of jax have the same names and sizes in primax."""
    before = thread.axes
    thread.axes = {name: modules.jax.lax.axis_size(name) for name in modules.core.unsafe_get_axis_names_DO_NOT_USE()}
    try:
        yield
    finally:
        thread.axes = before


def mesh_handlers(modules: Any, function: Callable[[Any], Callable[..., Any]]) -> dict[str, Handler]:
    """Functions that apply primitives of jax in place of equations, by the name of the primitive of primax.

    Args:
      modules: the modules of jax.
      function: returns a program as a function of values of jax.
    """
    jax = modules.jax
    lax = jax.lax

    def reduction(reduce: Callable[..., Any]) -> Handler:
        def handler(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
            groups = {"axis_index_groups": eqn.params.get("axis_index_groups")}
            return [reduce(*values, eqn.params["axes"], **groups)]

        return handler

    def all_gather(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        options = {name: params[name] for name in ("axis_index_groups", "tiled")}
        return [lax.all_gather(*values, params["axis_name"], axis=params["all_gather_dimension"], **options)]

    def all_to_all(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        options = {name: params[name] for name in ("split_axis", "concat_axis", "axis_index_groups", "tiled")}
        return [lax.all_to_all(*values, params["axis_name"], **options)]

    def reduce_scatter(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        options = {name: params[name] for name in ("scatter_dimension", "axis_index_groups", "tiled")}
        return [lax.psum_scatter(*values, params["axis_name"], **options)]

    def pvary(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        return [lax.pcast(*values, eqn.params["axes"], to="varying")]

    def shard_map(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params

        def part(*args: Any) -> tuple[Any, ...]:
            with axes_of_jax(modules):
                return tuple(function(params["jaxpr"])(*args))

        run = jax.shard_map(
            part,
            mesh=_mesh_in_jax(jax, params["mesh"]),
            in_specs=tuple(map(_spec_in_jax(jax), params["in_specs"])),
            out_specs=tuple(map(_spec_in_jax(jax), params["out_specs"])),
            axis_names=set(params["manual_axes"]),
            check_vma=params["check_vma"],
        )
        return run(*values)  # type: ignore[no-any-return]

    def constraint(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        return [lax.with_sharding_constraint(*values, _sharding_in_jax(jax, eqn.params["sharding"]))]

    def device_put(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        return [jax.device_put(*values, _sharding_in_jax(jax, eqn.params["device"]))]

    def inspect(eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        jax.debug.inspect_array_sharding(*values, callback=eqn.params["callback"])
        return []

    return {
        "all_gather": all_gather,
        "all_to_all": all_to_all,
        "axis_index": lambda eqn, values: [lax.axis_index(eqn.params["axis_name"])],
        "device_put": device_put,
        "inspect_sharding": inspect,
        "pmax": reduction(lax.pmax),
        "pmin": reduction(lax.pmin),
        "ppermute": lambda eqn, values: [lax.ppermute(*values, eqn.params["axis_name"], eqn.params["perm"])],
        "psum": reduction(lax.psum),
        "psum_invariant": reduction(lax.psum),
        "pvary": pvary,
        "reduce_scatter": reduce_scatter,
        "shard_map": shard_map,
        "sharding_constraint": constraint,
    }


def _device_in_jax(jax: Any, device: Any) -> Any:
    """The device of jax with the platform and the number of a device of primax."""
    for other in jax.devices(device.platform):
        if other.id == device.id:
            return other
    raise ValueError(f"to_jax: jax must have the device {device}, got only {jax.devices(device.platform)}")


def _mesh_in_jax(jax: Any, mesh: Any) -> Any:
    devices = np.empty(mesh.devices.shape, object)
    for place, device in np.ndenumerate(mesh.devices):
        devices[place] = _device_in_jax(jax, device)
    return jax.sharding.Mesh(devices, mesh.axis_names)


def _spec_in_jax(jax: Any) -> Callable[[Any], Any]:
    return lambda spec: jax.sharding.PartitionSpec(*spec)


def _sharding_in_jax(jax: Any, sharding: Any) -> Any:
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None:
        return jax.sharding.NamedSharding(_mesh_in_jax(jax, mesh), _spec_in_jax(jax)(sharding.spec))
    (device,) = sharding.device_set
    return jax.sharding.SingleDeviceSharding(_device_in_jax(jax, device))
