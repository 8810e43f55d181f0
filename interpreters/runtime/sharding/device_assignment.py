"""Device assignments: the devices of a program, and the shardings of its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.core.avals import ShapeDtypeStruct, get_aval
from primax.core.jaxpr import ClosedJaxpr, cached, subjaxprs
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.devices.backends import default_device, platform_of
from primax.interpreters.runtime.extended_array import ExtendedArray, physical
from primax.interpreters.runtime.sharding.mesh import Mesh, PartitionSpec, current_scope, meshes_exist, placing_mesh
from primax.interpreters.runtime.sharding.shardings import NamedSharding, devices_of, on_one_device, sharding_of

Shardings = Sequence[Any]


class DeviceAssignment(NamedTuple):
    """The devices on which a program runs.

    Attributes:
      devices: its devices, in order.
      mesh: a mesh of the devices; None for one device.
      ins: the sharding of each input; None for one device.
      outs: the sharding of each output, None for XLA's choice; None for one device, or if XLA chooses all.
    """

    devices: tuple[Any, ...]
    mesh: Mesh | None = None
    ins: tuple[Any, ...] | None = None
    outs: tuple[Any, ...] | None = None

    @property
    def platform(self) -> str:
        return platform_of(self.devices[0])

    @property
    def replicated(self) -> Any:
        """The sharding of replicated values."""
        return sharding_of(self.devices[0]) if self.mesh is None else NamedSharding(self.mesh, PartitionSpec())

    def __str__(self) -> str:
        return str(self.devices[0]) if len(self.devices) == 1 else f"{len(self.devices)} devices of {self.platform}"


_one: dict[Any, DeviceAssignment] = {}


def one_device(device: Any) -> DeviceAssignment:
    """The assignment of one device."""
    assignment = _one.get(device)
    if assignment is None:
        assignment = _one[device] = DeviceAssignment((device,))
    return assignment


def _committed(args: Sequence[Any]) -> list[Any]:
    """The distinct shardings of the committed arguments."""
    committed = []
    for x in args:
        if type(x) is ExtendedArray:
            x = physical(x)
        if type(x) is Array and x._b._committed:
            sharding = x._b._sharding
        elif type(x) is ShapeDtypeStruct and x.sharding is not None:
            sharding = x.sharding
        else:
            continue
        if sharding not in committed:
            committed.append(sharding)
    return committed


def choose_device(args: Sequence[Any]) -> Any:
    """The device of a computation on these arguments; the first, if there are several.

    Raises:
      ValueError: arguments are committed to different devices.
    """
    return choose_devices(None, args).devices[0]


def choose_devices(
    closed: ClosedJaxpr | None, args: Sequence[Any], ins: Shardings | None = None, outs: Shardings | None = None
) -> DeviceAssignment:
    """The device assignment with which a program runs with these arguments.

    Args:
      closed: the program; its meshes and constants also determine its devices.
      args: the arguments.
      ins: for each argument the required sharding, or None.
      outs: for each result the required sharding, or None.

    Raises:
      ValueError: arguments are committed to different devices, or have other shardings than `ins`.
    """
    shardings = _committed(args)
    if not meshes_exist():
        return one_device(_only_device(shardings))
    sources: list[tuple[Any, str]] = [(s, "arguments") for s in shardings]
    sources += [(s, "in_shardings") for s in ins or () if s is not None]
    sources += [(s, "out_shardings") for s in outs or () if s is not None]
    if closed is not None:
        sources += [(NamedSharding(mesh, PartitionSpec()), "the program") for mesh in meshes_of(closed)]
        # Constants on one device are copied to the devices of the program.
        sources += [(s, "constants") for s in _committed(closed.consts) if not on_one_device(s)]
    if not sources:
        mesh = placing_mesh()
        if mesh is not None:
            sources = [(NamedSharding(mesh, PartitionSpec()), "the mesh in scope")]
    if all(on_one_device(s) for s, _ in sources):
        return one_device(_only_device([s for s, _ in sources]))
    first, whose = next((s, who) for s, who in sources if not on_one_device(s))
    devices = devices_of(first)
    for sharding, who in sources:
        if devices_of(sharding) != devices:
            pair = "arguments" if who == whose else f"{whose} and {who}"
            raise ValueError(
                f"{pair} must be on the same devices, got {_shown(first)} and {_shown(sharding)}; move one with "
                "device_put"
            )
    mesh = _retyped(first.mesh)
    assignment = DeviceAssignment(devices, mesh)
    if closed is None:
        return assignment
    pairs = zip(args, _over_mesh(assignment, ins or (None,) * len(args)), strict=True)
    input_shardings = tuple([_input_sharding(assignment, x, sharding, i) for i, (x, sharding) in enumerate(pairs)])
    output_shardings = _over_mesh(assignment, outs or (None,) * len(closed.out_avals))
    if mesh.explicit_axes:
        results = zip(closed.out_avals, output_shardings, strict=True)
        output_shardings = tuple([_of_type(assignment, aval) if s is None else s for aval, s in results])
    return DeviceAssignment(devices, mesh, input_shardings, output_shardings)


def _retyped(mesh: Any) -> Any:
    """A mesh; the mesh in scope if only the types of their axes differ."""
    scope = current_scope()
    if scope is None or scope.mesh is None or scope.mesh is mesh or mesh.shape_tuple != scope.mesh.shape_tuple:
        return mesh
    return scope.mesh if scope.mesh.device_list == mesh.device_list else mesh


def _of_type(assignment: DeviceAssignment, aval: Any) -> Any:
    """The sharding of a result by its type; None if the mesh has axes that types do not record.

    XLA cannot choose the shardings of unreduced values: they are whole along the other axes.
    """
    recorded = None if getattr(aval, "placement", None) is None else aval.placement.sharding
    pending = recorded is not None and (recorded.spec.unreduced or recorded.spec.reduced)
    mesh = assignment.mesh
    if mesh is None or not (mesh.are_all_axes_explicit or pending):
        return None
    return assignment.replicated if recorded is None else NamedSharding(_arranged(mesh, recorded.mesh), recorded.spec)


def _arranged(mesh: Any, axes: Any) -> Any:
    """A mesh, or its devices in the same order along the axes of another mesh, which a type has."""
    if axes.shape_tuple == mesh.shape_tuple:
        return mesh
    return mesh.update(mesh.devices.reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)


def _over_mesh(assignment: DeviceAssignment, shardings: Shardings) -> tuple[Any, ...]:
    """Shardings, with a sharding of one device replaced by one over a mesh of that device."""
    return tuple([assignment.replicated if s is not None and on_one_device(s) else s for s in shardings])


def _input_sharding(assignment: DeviceAssignment, x: Any, required: Any, position: int) -> Any:
    """The sharding of an argument: the required one, or its own, or replicated."""
    x = physical(x)
    if type(x) is Array and x._b._committed:
        has = x._b._sharding
    elif type(x) is ShapeDtypeStruct and x.sharding is not None:
        has = x.sharding
    else:
        return required or assignment.replicated
    if on_one_device(has):  # the sharding of a mesh of one device
        has = assignment.replicated
    if required is None or has is required:
        return has
    if not has.is_equivalent_to(required, len(x.shape)):
        raise ValueError(
            f"argument {position} of type {get_aval(x).str_short()} must have the sharding {required}, as in_shardings "
            f"says, got {has}; move it with device_put"
        )
    return required


def _shown(sharding: Any) -> str:
    devices = devices_of(sharding)
    if len(devices) == 1:
        return str(devices[0])
    mesh = getattr(sharding, "mesh", None)
    over = "" if mesh is None else f" in {mesh!r}"
    return f"{[device.id for device in devices]} of {platform_of(devices[0])}{over}"


def _only_device(shardings: Sequence[Any]) -> Any:
    """The common device of shardings of one device."""
    chosen = None
    for sharding in shardings:
        (device, *_) = devices_of(sharding)
        if chosen is None:
            chosen = device
        elif chosen is not device and chosen != device:
            raise ValueError(
                f"arguments must be committed to the same devices, got {chosen} and {device}; move one with device_put"
            )
    return default_device() if chosen is None else chosen


def meshes_of(closed: ClosedJaxpr) -> tuple[Mesh, ...]:
    """The meshes in the equations of a program and of its inner programs."""
    return cached(closed, "meshes", lambda: _meshes_of(closed))  # type: ignore[no-any-return]


def _meshes_of(closed: ClosedJaxpr) -> tuple[Mesh, ...]:
    meshes: dict[Mesh, None] = {}
    pending = [closed.jaxpr]
    seen = set(pending)
    while pending:
        jaxpr = pending.pop()
        for eqn in jaxpr.eqns:
            for value in eqn.params.values():
                for mesh in _meshes_in(value):
                    meshes[mesh] = None
        for held in subjaxprs(jaxpr):
            if held not in seen:
                seen.add(held)
                pending.append(held)
    return tuple(meshes)


def _meshes_in(value: Any) -> list[Mesh]:
    if isinstance(value, Mesh):
        return [value]
    if isinstance(value, NamedSharding):
        return [value.mesh] if isinstance(value.mesh, Mesh) else []
    if isinstance(value, tuple):
        return [mesh for part in value for mesh in _meshes_in(part)]
    return []
