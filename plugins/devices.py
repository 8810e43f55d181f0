"""Transfer of values to devices and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar, overload

import numpy as np

from primax.extend import backend, core, hookimpl
from primax.extend.core import Array, ShardingTypeError, tree
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among
from primax.extend.provisional.avals import ExtendedArray
from primax.extend.provisional.lowering import constrained, spmd_of
from primax.extend.provisional.sharding import (
    Layout,
    Space,
    aval_sharding,
    axes_of_dims,
    canonical_sharding,
    current_scope,
    explicit_part,
    placed,
    with_aval_sharding,
)
from primax.extend.provisional.sharding_rule import ShardingRule
from primax.extend.provisional.tracing import escaped
from primax.extend.provisional.typing import ArrayLike
from primax.extend.provisional.user_types import map_parts
from primax.extend.rule_types import Table
from primax.extend.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec, Sharding

__all__ = [
    "block_until_ready",
    "constrain_all",
    "copy_to_host_async",
    "device_get",
    "device_put",
    "device_put_p",
    "layout_constraint_p",
    "require_determined",
    "require_free",
    "sharding_constraint_p",
    "with_layout_constraint",
    "with_sharding_constraint",
]

device_put_p = core.Primitive("device_put")
sharding_constraint_p = core.Primitive("sharding_constraint")
layout_constraint_p = core.Primitive("layout_constraint")


_T = TypeVar("_T")


@overload
def device_put(
    x: ArrayLike, device: object = None, *, src: object = None, donate: object = False, may_alias: object = None
) -> Array: ...
@overload
def device_put(
    x: _T, device: object = None, *, src: object = None, donate: object = False, may_alias: object = None
) -> _T: ...
def device_put(
    x: object, device: object = None, *, src: object = None, donate: object = False, may_alias: object = None
) -> Any:
    """Place the arrays of a tree on devices.

    Args:
      x: arrays, NumPy arrays and numbers in any containers.
      device: the target: a device, a sharding, a `PartitionSpec` over the mesh in scope, or a tree of these that is a
        prefix of `x`. None leaves arrays where they are, and puts the rest uncommitted on the default device.
      src: the present place of the arrays; ignored, since arrays have this information.
      donate: whether to delete the original of an array that is moved; a bool, or a tree of bools that is a prefix of
        `x`.
      may_alias: whether the result may share memory with `x`; False makes copies. None, a bool, or a tree of these that
        is a prefix of `x`.

    Returns:
      The same structure, with an `Array` for each leaf.

    Raises:
      TypeError: `device` is not one of these, `x` has a leaf that is not an array, or a flag is not a bool.
      ValueError: an array cannot be divided by the sharding; both `donate` and `may_alias` are True for a leaf.

    >>> import primax as px
    >>> px.device_put([1.0, 2])
    [Array(1., dtype=float32, weak_type=True), Array(2, dtype=int32, weak_type=True)]
    """
    leaves, structure = tree.flatten(x)
    if device is None or isinstance(device, Sharding | backend.Device | PartitionSpec | Space):
        targets = [canonical_sharding("device_put", "device", device)] * len(leaves)
    else:
        placements = tree.flatten_axes("device_put device", structure, device)
        targets = [canonical_sharding("device_put", "device", placement) for placement in placements]

    for target in targets:
        require_determined("device_put: device", target)
    donated = _of_leaves("donate", donate, structure)
    aliased = _of_leaves("may_alias", may_alias, structure)
    if any(alias and donation for alias, donation in zip(aliased, donated, strict=True)):
        raise ValueError("device_put: may_alias must not be True where donate is, got both")

    def put(leaf: Any, target: Any, donated: bool, alias: bool | None) -> Array:
        aval = core.get_aval(leaf)
        if aval.composite:
            return map_parts(lambda i, part: put(part, _of_part(target, aval, i, part), donated, alias), leaf)
        if aval.dtype == core.dtypes.float0:
            return leaf
        explicit = aval_sharding(aval)
        if (explicit is not None and explicit.unreduced) or _takes_summands(target):
            leaf = _summed(leaf, aval, target)
        out = device_put_p.bind(leaf, device=target)
        if alias is not None and not alias and type(out) in (core.Array, ExtendedArray):
            return runtime.copy_if_shared(out, constant=True)
        if donated and type(leaf) is core.Array and out is not leaf and leaf.sharding != out.sharding:
            leaf.delete()
        return out

    return tree.unflatten(structure, map(put, leaves, targets, donated, aliased))


def _of_part(target: Any, aval: Any, number: int, part: Any) -> Any:
    """The target of a part of a value of a user's type: dimensions that the part has are divided like the value's."""
    if not isinstance(target, NamedSharding):
        return target
    rank = len(core.get_aval(part).shape)
    entries: list[Any] = [None] * rank
    for dim, names in enumerate(target.spec):
        axis = aval.part_axis(number, dim)
        if axis is not None and axis < rank:
            entries[axis] = names
    return NamedSharding(target.mesh, PartitionSpec(*entries), memory_kind=target.memory_kind)


def require_determined(what: str, sharding: Any) -> None:
    """Raise an error if a sharding leaves axes to XLA, where it must say how an array is divided.

    Raises:
      ValueError: the sharding leaves an axis to XLA.
    """
    spec = getattr(sharding, "spec", None)
    if spec is not None and PartitionSpec.UNCONSTRAINED in spec.partitions:
        raise ValueError(
            f"{what} must say how each axis is divided, got {spec} with UNCONSTRAINED; only with_sharding_constraint "
            "takes that"
        )


def _of_leaves(argument: str, value: Any, structure: Any) -> list[Any]:
    """The bool or None for each leaf."""
    if value is None or isinstance(value, bool):
        return [value] * structure.num_leaves
    flags = tree.flatten_axes(f"device_put {argument}", structure, value)
    for flag in flags:
        if not among(flag, (False, True, None)):
            raise TypeError(f"device_put: {argument} must be a bool or a tree of bools, got {flag!r}")
    return flags


def _takes_summands(target: Any) -> bool:
    return isinstance(target, NamedSharding) and bool(target.spec.unreduced)


def _summed(x: Any, aval: core.ShapedArray, target: Any) -> Any:
    """An array with a pending sum over devices, as the target requires: summed, or as summands."""
    if target is None:
        return x
    if type(x) is core.Array or isinstance(x, core.Tracer):
        explicit = _explicit_sharding(aval, target) if getattr(target, "explicit", False) else None
        return with_aval_sharding(x, explicit)
    return x


def _device_put_impl(x: Any, *, device: Any) -> Array:
    if isinstance(x, core.Tracer):
        raise escaped(x)
    with runtime.explicit_transfer("put"):
        return runtime.put_value(x, core.get_aval(x).weak_type, device)


def _put_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, device: Any) -> list[Any]:
    if not isinstance(device, NamedSharding) or spmd_of(ctx.module_context).partitions == 1:
        return [x]
    return [constrained(ctx.module_context, x, device.mesh, device.spec, len(ctx.avals_in[0].shape))]


def with_sharding_constraint(x: _T, shardings: object) -> _T:
    """Prescribe the shardings of the arrays of a tree to XLA.

    Args:
      x: arrays in any containers.
      shardings: a `NamedSharding`, or a `PartitionSpec` over the mesh in scope, or a tree of these that is a prefix of
        `x`. `PartitionSpec.UNCONSTRAINED` leaves an axis to XLA, None leaves an array to it.

    Returns:
      The same values. Outside of programs they are moved to the shardings.

    Raises:
      TypeError: `shardings` is not one of these.
      ValueError: a sharding has more axes than an array, or no mesh is in scope; outside of programs or along explicit
        axes, the length of an axis is not a multiple of the number of its parts.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> mesh = px.make_mesh((1,), ("x",))
      >>> rows = px.NamedSharding(mesh, px.P("x"))
      >>> (eqn,) = px.make_jaxpr(lambda x: lax.with_sharding_constraint(x, rows))(np.ones((4, 2))).eqns
      >>> eqn.params["sharding"].spec
      P('x',)
    """
    leaves, structure = tree.flatten(x)
    prescribed = tree.flatten_axes("with_sharding_constraint shardings", structure, shardings)
    constraints = list(map(_constraint_of, leaves, prescribed))
    for leaf, sharding in zip(leaves, constraints, strict=True):
        if sharding is not None:
            explicit, traced = getattr(sharding, "explicit", False), isinstance(leaf, core.Tracer)
            shape = core.get_aval(leaf).shape
            if explicit or len(getattr(sharding, "spec", ())) > len(shape):  # values are checked when they are moved
                sharding.check_shape(shape, "with_sharding_constraint")
            if explicit and traced:
                _constrained_axes(core.get_aval(leaf), sharding=sharding)
    return tree.unflatten(structure, constrain_all(leaves, constraints))


def _constraint_of(x: Any, sharding: Any) -> Any:
    """The sharding that is prescribed for a value; one without devices is over the mesh in scope or of the value.

    In a program it stays without devices: arguments determine the devices of the program.
    """
    function = "with_sharding_constraint"
    if not isinstance(getattr(sharding, "mesh", None), AbstractMesh) or sharding.mesh.empty:
        return canonical_sharding(function, "shardings", sharding)
    scope = current_scope()
    if scope is not None and scope.mesh is not None and scope.mesh.shape_tuple == sharding.mesh.shape_tuple:
        return canonical_sharding(function, "shardings", sharding)
    if isinstance(x, core.Tracer):
        return sharding
    return _on_mesh_of(x, sharding)


def _on_mesh_of(x: Any, sharding: Any) -> Any:
    """A sharding, over the mesh of an array if it is without devices."""
    if not isinstance(getattr(sharding, "mesh", None), AbstractMesh):
        return sharding
    mesh = getattr(getattr(x, "sharding", None), "mesh", None)
    if mesh is None or mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(
            "with_sharding_constraint: a sharding over a mesh without devices needs x to be an array over a mesh of "
            f"the same axes, or such a mesh in scope, got {sharding.mesh!r}; set one with primax.set_mesh"
        )
    return NamedSharding(mesh, sharding.spec)


def constrain_all(leaves: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Flat values with the given shardings; values with None unchanged."""
    outs = []
    for x, sharding in zip(leaves, shardings, strict=True):
        aval = core.get_aval(x)
        if aval.composite and sharding is not None:
            outs.append(map_parts(partial(_constrained_part, sharding, aval), x))
            continue
        if getattr(sharding, "explicit", False):
            x = with_aval_sharding(x, _explicit_sharding(aval, sharding))
        unchanged = sharding is None or _takes_summands(sharding)  # the axis of summands is not an axis of the value
        outs.append(x if unchanged else sharding_constraint_p.bind(x, sharding=sharding))
    return outs


def _constrained_part(sharding: Any, aval: Any, number: int, part: Any) -> Any:
    return constrain_all([part], [_of_part(sharding, aval, number, part)])[0]


def _constraint_impl(x: Any, *, sharding: Any) -> Any:
    if isinstance(sharding.mesh if isinstance(sharding, NamedSharding) else None, AbstractMesh):
        if not isinstance(getattr(x, "sharding", None), NamedSharding):
            return x  # a cotangent, say, which is on one device, as in a program for one device
        sharding = _on_mesh_of(x, sharding)
    sharding.check_shape(core.get_aval(x).shape, "with_sharding_constraint")
    return runtime.put_value(x, core.get_aval(x).weak_type, sharding)


def _constraint_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, sharding: Any) -> list[Any]:
    if not isinstance(sharding, NamedSharding) or spmd_of(ctx.module_context).partitions == 1:
        return [x]
    if sharding.mesh.size != ctx.module_context.spmd.partitions:
        raise ValueError(
            f"with_sharding_constraint: the mesh of a sharding must have as many devices as the program, "
            f"{ctx.module_context.spmd.partitions}, got {sharding.mesh!r}"
        )
    return [constrained(ctx.module_context, x, sharding.mesh, sharding.spec, len(ctx.avals_in[0].shape))]


def require_free(what: str, names: Sequence[Any], mesh: Mesh, specs: Sequence[PartitionSpec]) -> None:
    """Raise an error for mesh axes along which `vmap` divides, if they do not exist, or divide values already.

    Raises:
      ValueError: there is such an axis.
    """
    for name in names:
        if name not in mesh.axis_names:
            raise ValueError(f"vmap: spmd_axis_name must name axes of {mesh!r}, got {name!r}")
        used = [spec for spec in specs if name in spec.axes]
        if used:
            raise ValueError(
                f"vmap: spmd_axis_name must name axes that {what} do not use, got {name!r}, which {used[0]} uses"
            )


def _constraint_batch(axis: batching.AxisData, args: Any, dims: Any, *, sharding: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    if dim is None:
        return sharding_constraint_p.bind(x, sharding=sharding), None
    if isinstance(sharding, NamedSharding):
        parts = [*sharding.spec, *[None] * (dim - len(sharding.spec))]
        names = axis.spmd
        require_free("the specifications of with_sharding_constraint", axis.spmd, sharding.mesh, [sharding.spec])
        parts.insert(dim, (names[0] if len(names) == 1 else names) if names else PartitionSpec.UNCONSTRAINED)
        sharding = sharding.update(spec=PartitionSpec(*parts))
    return sharding_constraint_p.bind(x, sharding=sharding), dim


def with_layout_constraint(x: _T, layouts: object) -> _T:
    """Prescribe to XLA the order of axes in memory for the arrays of a tree within a program; the values are unchanged.

    The arguments and results of programs are always row-major.

    Args:
      x: arrays in any containers.
      layouts: a `Layout`, or a tree of these that is a prefix of `x`.

    Returns:
      The same values.

    Raises:
      TypeError: `layouts` is not one of these.
      ValueError: a layout does not order the axes of its array.
    """
    leaves, structure = tree.flatten(x)
    flat = tree.flatten_axes("with_layout_constraint layouts", structure, layouts)
    for layout in flat:
        if not isinstance(layout, Layout):
            raise TypeError(f"with_layout_constraint: layouts must be Layouts, got {layout!r}")
    bound = [layout_constraint_p.bind(leaf, layout=layout) for leaf, layout in zip(leaves, flat, strict=True)]
    return tree.unflatten(structure, bound)


def _layout_abstract_eval(x: Any, *, layout: Layout) -> Any:
    if sorted(layout.major_to_minor) != list(range(len(x.shape))):
        raise ValueError(
            f"with_layout_constraint: layouts must order the axes of arrays of shape {x.shape}, got {layout!r}"
        )
    return x


def _layout_impl(x: Any, *, layout: Layout) -> Any:
    _layout_abstract_eval(core.get_aval(x), layout=layout)
    return x


def _layout_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, layout: Layout) -> Any:
    order = list(layout.major_to_minor[::-1])
    call = mlir.custom_call("LayoutConstraint", result_types=[x.type], operands=[x], result_layouts=[order])
    return call.results


def _layout_batch(args: Any, dims: Any, *, layout: Layout) -> tuple[Any, Any]:
    """The mapped axis varies slowest."""
    (dim,) = dims
    order = (dim, *(axis + (axis >= dim) for axis in layout.major_to_minor))
    return layout_constraint_p.bind(*args, layout=Layout(order)), dim


@overload
def device_get(x: ArrayLike) -> np.ndarray: ...
@overload
def device_get(x: object) -> Any: ...
def device_get(x: object) -> Any:
    """The values of the arrays of a tree, as NumPy arrays.

    Args:
      x: arrays in any containers; other leaves are kept.

    Returns:
      The same structure, with a NumPy array for each array. Tracers, and arrays of extended dtypes such as keys, are
      kept, too.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.device_get({"a": pnp.arange(2), "b": 3})
      {'a': array([0, 1], dtype=int32), 'b': 3}
    """
    with runtime.explicit_transfer("get"):
        return tree.tree_map(lambda leaf: np.asarray(leaf) if _has_numbers(leaf) else leaf, x)


def _has_numbers(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and type(leaf) is not ExtendedArray and not isinstance(leaf, core.Tracer)


def block_until_ready(x: _T) -> _T:
    """Wait until all arrays of a tree have been computed; returns the tree.

    Args:
      x: arrays in any containers; of other leaves the method `block_until_ready` is called, if they have it.

    >>> import primax as px
    >>> px.block_until_ready(px.jit(lambda x: x + 1.0)(1.0))
    Array(2., dtype=float32, weak_type=True)
    """
    arrays = []
    for leaf in tree.tree_leaves(x):
        if type(leaf) is core.Array:
            arrays.append(leaf)
        elif callable(wait := getattr(leaf, "block_until_ready", None)):
            wait()
    core.Array._await_all(arrays)
    return x


def copy_to_host_async(x: _T) -> _T:
    """Start copying the arrays of a tree to the host, unless they are there already; returns the tree.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> x, y = px.copy_to_host_async((pnp.arange(3), pnp.ones(2)))  # both copies are under way
      >>> np.asarray(x)
      array([0, 1, 2], dtype=int32)
    """
    for leaf in tree.tree_leaves(x):
        if callable(start := getattr(leaf, "copy_to_host_async", None)):
            start()
    return x


def _put_type(x: Any, *, device: Any) -> Any:
    """The type of an array at its target, on the mesh in scope, whose axes may have other types there."""
    scope = current_scope()
    if isinstance(device, NamedSharding) and scope is not None and scope.abstract != device.mesh.abstract_mesh:
        return x
    return x if device is None or type(x) is not core.ShapedArray else placed(x, device)


def _put_sharding_rule(x: Any, *, device: Any) -> list[Any]:
    return [aval_sharding(_put_type(x, device=device))]


def _constrained_axes(x: Any, *, sharding: Any) -> list[Any]:
    """A constraint does not change values whose types record their sharding, and must agree with them.

    Raises:
      ShardingTypeError: it does not agree.
    """
    if getattr(sharding, "explicit", False) and aval_sharding(x) is not _explicit_sharding(x, sharding):
        raise ShardingTypeError(
            f"with_sharding_constraint: x of type {x.str_short()} must have the sharding {sharding.spec}; "
            f"primax.reshard changes it"
        )
    return [axes_of_dims(x)]


def _explicit_sharding(x: Any, sharding: NamedSharding) -> Any:
    """The part of a sharding along the axes that are explicit in scope."""
    scope = current_scope()
    mesh = scope.abstract if scope is not None and scope.mesh is sharding.mesh else sharding.mesh
    return explicit_part(mesh, sharding.spec, len(x.shape))


RULES: Table = {
    device_put_p: {
        "impl": _device_put_impl,
        "abstract_eval": _put_type,
        "jvp": ad.linear_jvp(device_put_p),
        "transpose": ad.linear_transpose(device_put_p, lambda ct, *, device: [device_put_p.bind(ct, device=None)]),
        "batch": batching.vectorized(device_put_p),
        "sharding": ShardingRule(_put_sharding_rule, whole_shardings=True),
        "lowering": _put_lowering,
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
    layout_constraint_p: {
        "impl": _layout_impl,
        "abstract_eval": _layout_abstract_eval,
        "jvp": ad.linear_jvp(layout_constraint_p),
        "transpose": ad.linear_transpose(
            layout_constraint_p, lambda ct, *, layout: [layout_constraint_p.bind(ct, layout=layout)]
        ),
        "batch": _layout_batch,
        "sharding": lambda x, *, layout: [axes_of_dims(x)],
        "lowering": _layout_lowering,
    },
    sharding_constraint_p: {
        "impl": _constraint_impl,
        "abstract_eval": lambda x, *, sharding: x,
        "jvp": ad.linear_jvp(sharding_constraint_p),
        "transpose": ad.linear_transpose(
            sharding_constraint_p, lambda ct, *, sharding: [sharding_constraint_p.bind(ct, sharding=sharding)]
        ),
        "axis_batch": _constraint_batch,
        "sharding": _constrained_axes,
        "lowering": _constraint_lowering,
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.devices:SAMPLES"], **rules)
