"""Resharding along explicit mesh axes, and functions in which XLA, or types, determine shardings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import ShapedArray, ShardingTypeError, get_aval, tree
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import check_function, renumbered, wraps
from primax.extend.provisional.lowering import array_in_module, constrained, spmd_of
from primax.extend.provisional.sharding import (
    AvalSharding,
    MeshScope,
    aval_sharding,
    axes_in_scope,
    axes_of_dims,
    check_spec,
    current_scope,
    explicit_part,
    required_placement_rules,
    unreduced_contractions,
)
from primax.extend.provisional.sharding_rule import ShardingRule
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import AxisNames, ShardingLike
from primax.extend.rule_types import Table
from primax.extend.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, Sharding
from primax.plugins.devices import device_put, with_sharding_constraint

__all__ = [
    "auto_axes",
    "divided_call",
    "explicit_axes",
    "filled",
    "forget_p",
    "forgotten",
    "from_host",
    "place_of",
    "placed",
    "reshard",
    "reshard_p",
    "resharded",
    "with_aval_sharding",
    "with_out_sharding",
]

_NONE: frozenset[Any] = frozenset()
_NO_MESH = AbstractMesh((), ())

reshard_p = core.Primitive("reshard")
forget_p = core.Primitive("forget_division")


_T = TypeVar("_T")


def reshard(xs: _T, out_shardings: object) -> _T:
    """The same values with another sharding along mesh axes of type `Explicit`.

    Args:
      xs: arrays in any containers.
      out_shardings: a `PartitionSpec` over the mesh in scope, or a `NamedSharding`, or a tree of these that is a prefix
        of `xs`. Explicit axes that it omits divide nothing.

    Returns:
      The structure of `xs`.

    Raises:
      TypeError: `out_shardings` is not one of these.
      ValueError: there is no mesh with explicit axes, a specification names another axis, or an array cannot be divided
        in this way.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("x",), px.sharding.AxisType.Explicit)
    >>> with px.set_mesh(mesh):
    ...     px.typeof(px.reshard(px.numpy.zeros((4, 2)), px.P("x")))
    ShapedArray(float32[4@x,2])
    """
    leaves, structure = tree.flatten(xs)
    targets = tree.flatten_axes("reshard out_shardings", structure, out_shardings)
    outs = [_resharded("reshard", x, sharding) for x, sharding in zip(leaves, targets, strict=True)]
    return tree.unflatten(structure, outs)


def _resharded(function: str, x: Any, sharding: Any, mesh: Any = None) -> Any:
    """A value with the given sharding."""
    if _divides_nothing(sharding, mesh):
        return x
    where, spec = _mesh_and_spec(function, sharding, mesh)
    aval = get_aval(x)
    rank = len(aval.shape)
    if len(spec) > rank:
        raise ValueError(f"{function}: {spec} needs arrays of at least {len(spec)} axes, got {aval.str_short()}")
    explicit = explicit_part(where, spec, rank)
    sizes = where.shape
    for i, size in enumerate(aval.shape):
        parts = int(np.prod([sizes[name] for name in spec.along(i)], dtype=np.int64))
        if size % parts:
            raise ValueError(
                f"{function}: axis {i} of {aval.str_short()} must be a multiple of {parts} to be divided as {spec}"
            )
    if aval_sharding(aval) is explicit:
        return x
    if spec.unreduced and not (isinstance(aval.dtype, np.dtype) and dtypes.is_numeric(aval.dtype)):
        raise TypeError(f"{function}: an unreduced value must be an array of numbers, got {aval.str_short()}")
    return reshard_p.bind(x, **_params(where, rank, explicit))


def _divides_nothing(sharding: Any, mesh: Any) -> bool:
    """Whether a sharding names no axis of a mesh without explicit axes; types contain nothing of such a mesh."""
    if isinstance(sharding, NamedSharding | AvalSharding):
        where, spec = sharding.mesh, sharding.spec
    elif isinstance(sharding, PartitionSpec):
        scope = current_scope()
        where, spec = _mesh_of(scope) if mesh is None and scope is not None else mesh, sharding
    else:
        return False
    return (
        where is not None
        and not (where.explicit_axes or spec.axes or spec.unreduced or spec.reduced)
        and (PartitionSpec.UNCONSTRAINED not in spec.partitions)
    )


def _params(mesh: Any, rank: int, explicit: AvalSharding | None) -> dict[str, Any]:
    """The parameters of `reshard_p`."""
    if explicit is None:
        return {"mesh": mesh, "axes": ((),) * rank}
    states = (("unreduced", explicit.unreduced), ("reduced", explicit.reduced))
    pending = {name: tuple([n for n in mesh.axis_names if n in names]) for name, names in states if names}
    return {"mesh": mesh, "axes": explicit.axes, **pending}


def _mesh_and_spec(function: str, sharding: Any, mesh: Any) -> tuple[Any, PartitionSpec]:
    """The mesh and the specification of a sharding.

    Raises:
      TypeError: the value is not a sharding.
      ValueError: there is no mesh with explicit axes, or an axis is not explicit.
    """
    if isinstance(sharding, NamedSharding | AvalSharding):
        where, spec = sharding.mesh, sharding.spec
    elif isinstance(sharding, PartitionSpec):
        scope = current_scope()
        if mesh is None and scope is None:
            raise ValueError(
                f"{function}: {sharding} is a specification without a mesh, and no mesh is in scope; set one with "
                f"primax.set_mesh, or pass NamedSharding(mesh, {sharding})"
            )
        where, spec = mesh if mesh is not None else _mesh_of(scope), sharding
    else:
        raise TypeError(f"{function}: a sharding must be a PartitionSpec or a NamedSharding, got {sharding!r}")
    check_spec(function, where, spec)
    if PartitionSpec.UNCONSTRAINED in spec.partitions:
        raise ValueError(
            f"{function}: a sharding must give the axes that divide each dimension, got {spec}; types cannot "
            f"contain UNCONSTRAINED"
        )
    others = [name for name in (*spec.axes, *spec.unreduced, *spec.reduced) if name not in where.explicit_axes]
    if others or not where.explicit_axes:
        named = f"; {spec} names {', '.join(map(repr, others))}" if others else ""
        raise ValueError(
            f"{function}: types contain shardings only along axes of type Explicit, got {where!r}"
            f"{named}. Use lax.with_sharding_constraint for axes of type Auto"
        )
    return where, spec


def _mesh_of(scope: Any) -> Any:
    """The mesh in scope, with its devices if the types of its axes are unchanged."""
    if scope.mesh is not None and scope.mesh.abstract_mesh == scope.abstract:
        return scope.mesh
    return scope.abstract


def with_out_sharding(function: str, bind: Callable[..., Any], args: Sequence[Any], out_sharding: Any) -> Any:
    """The result of a function, with the sharding that its argument `out_sharding` prescribes."""
    if _is_default(out_sharding):
        return bind(*args)
    _, spec = _mesh_and_spec(f"{function}: out_sharding", out_sharding, None)
    if spec.unreduced:
        return _unreduced_result(function, bind, args, out_sharding, spec.unreduced)
    return _resharded(f"{function}: out_sharding", bind(*map(forgotten, args)), out_sharding)


def _unreduced_result(
    function: str, bind: Callable[..., Any], args: Sequence[Any], out_sharding: Any, names: frozenset[Any]
) -> Any:
    """The result of a contraction whose sum along axes of the mesh stays pending.

    Raises:
      ShardingTypeError: these axes divide no dimension of the sum, or other axes do, too.
    """
    with unreduced_contractions(names):
        out = bind(*args)
    aval = get_aval(out)
    explicit = aval_sharding(aval)
    if (_NONE if explicit is None else explicit.unreduced) != names:
        shown = " and ".join(get_aval(x).str_short() for x in args)
        raise ShardingTypeError(
            f"{function}: unreduced of out_sharding must name the axes that divide the dimensions of the sum, got "
            f"{sorted(names, key=str)} for operands of types {shown} and a result of type {aval.str_short()}"
        )
    return _resharded(f"{function}: out_sharding", out, out_sharding)


def _is_default(sharding: Any) -> bool:
    """Whether a sharding is that of an array's type outside of any mesh."""
    return isinstance(sharding, NamedSharding | AvalSharding) and not sharding.mesh.axis_names


def resharded(function: str, x: Any, out_sharding: Any) -> Any:
    """An array with the sharding in the argument `out_sharding` of a function, along axes of any type."""
    if _is_default(out_sharding):
        return x
    if isinstance(out_sharding, NamedSharding) and not out_sharding.mesh.explicit_axes:
        return with_sharding_constraint(x, out_sharding)
    return _resharded(f"{function}: out_sharding", x, out_sharding)


def placed(function: str, x: Any, sharding: Any) -> Any:
    """An array with the sharding in the argument `sharding` of the function that makes it, on any devices.

    Raises:
      TypeError: the value is not a sharding.
    """
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{function}: sharding must be a sharding or None, got {sharding!r}")
    return resharded(function, x, sharding) if isinstance(sharding, NamedSharding) else device_put(x, sharding)


def place_of(x: Any, shape: Sequence[int]) -> Any:
    """The sharding of a committed array of this shape, for arrays that are made like it; None for other values.

    During a trace it is None, since XLA places the results of programs.
    """
    if type(x) is not core.Array or not x.committed or x.shape != shape or core.current_trace().tracing:
        return None
    return None if x.sharding._summands else x.sharding


def filled(sharding: Any, shape: Sequence[int], make: Callable[[tuple[int, ...]], Any]) -> Any:
    """An array of equal elements with a sharding; `make` returns such an array of a given shape on any device."""
    shape = tuple(shape)
    with axes_in_scope(_NO_MESH, None):  # else a mesh in scope would hold the part on each device
        part = make(sharding.shard_shape(shape))
    if not shape and type(part) is core.Array:  # it may be the caller's own scalar, which a donation must not take
        part = runtime.copy_if_shared(part, constant=True)
    aval = get_aval(part).update(shape=shape)
    devices = sharding.addressable_devices_indices_map(shape)
    parts = [runtime.put_value(part, aval.weak_type, device) for device in devices]
    return parts[0] if len(sharding.device_set) == 1 else runtime.of_parts(aval, sharding, parts)


def from_host(x: Any, weak_type: bool = False, device: Any = None, lent: bool = False) -> Any:
    """A host value as an array on a device or over a sharding.

    If `device` is None, it is on each device of the mesh of `set_mesh`, or else uncommitted on the default device. The
    array may share the memory of a NumPy array that is `lent`.
    """
    if device is None and not thread.trace.tracing:
        scope = current_scope()
        if scope is not None and scope.places is not None:
            device = NamedSharding(scope.places, PartitionSpec())
    return runtime.put_value(x, weak_type, device, lent)


def divided_call(
    f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], out_sharding: Any, name: str = ""
) -> Any:
    """The result of a function with the sharding in its argument `out_sharding`; XLA chooses those of its arguments.

    Args:
      f: returns arrays in any containers.
      args, kwargs: all its other arguments, arrays in any containers and other values.
      out_sharding: as for `resharded`, not None.
      name: the name of the function in messages; by default its own.
    """
    if not _is_default(out_sharding):
        args, kwargs = tree.tree_map(_without_sharding, (tuple(args), dict(kwargs)))
    outs = f(*args, **kwargs)
    return tree.tree_map(lambda x: resharded(name or f.__name__, x, out_sharding), outs)


def _without_sharding(x: Any, mesh: AbstractMesh | None = None) -> Any:
    return forgotten(x, mesh) if isinstance(x, core.Array | core.Tracer) else x


def forgotten(x: Any, mesh: AbstractMesh | None = None) -> Any:
    """A value whose type records only its sharding along explicit axes of a mesh; no sharding if there is no mesh."""
    aval = get_aval(x)
    explicit = aval_sharding(aval)
    if explicit is None or explicit.mesh is mesh:
        return x
    return forget_p.bind(x, mesh=mesh, mapped=())


def auto_axes(
    f: Callable[..., Any] | None = None, /, *, axes: AxisNames | None = None, out_sharding: ShardingLike | None = None
) -> Any:
    """A function in which XLA chooses shardings along explicit axes of a mesh.

    Args:
      f: takes and returns arrays in any containers.
      axes: names of axes of the mesh in scope, or of the mesh of `out_sharding`; by default all explicit ones.
      out_sharding: the shardings of results, as for `reshard`; if None, each call must give them by keyword.

    Raises:
      TypeError: `out_sharding` is given neither here nor in the call.
      ValueError: no mesh with explicit axes is in scope or given.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("x",), px.sharding.AxisType.Explicit)
    >>> with px.set_mesh(mesh):
    ...     f = px.sharding.auto_axes(lambda x: px.numpy.sort(x), out_sharding=px.P("x"))
    ...     px.typeof(f(px.reshard(px.numpy.zeros(4), px.P("x"))))
    ShapedArray(float32[4@x])
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_function("auto_axes", "f", f)

    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        sharding = _required_sharding("auto_axes", "out_sharding", out_sharding, kwargs)
        outer = _scope("auto_axes", "out_sharding", sharding)
        names = _named("auto_axes", axes, outer.abstract.explicit_axes, "Explicit")
        inner = outer.abstract.update_axis_types(dict.fromkeys(names, AxisType.Auto))
        args, kwargs = tree.tree_map(lambda x: _without_sharding(x, inner), (args, kwargs))
        with axes_in_scope(inner, outer.mesh):
            outs = f(*args, **kwargs)
        leaves, structure = tree.flatten(outs)
        specs = tree.flatten_axes("auto_axes out_sharding", structure, sharding)
        mesh = _mesh_of(outer)
        with axes_in_scope(outer.abstract, outer.mesh):
            moved = [_resharded("auto_axes: out_sharding", x, s, mesh) for x, s in zip(leaves, specs, strict=True)]
        return tree.unflatten(structure, moved)

    return run


def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: AxisNames | None = None, in_sharding: object = None
) -> Any:
    """A function in which types contain shardings along axes that are `Auto` outside it.

    Args:
      f: takes and returns arrays in any containers.
      axes: names of axes of the mesh in scope; by default all of type `Auto`.
      in_sharding: the shardings of positional arguments: a `PartitionSpec` over the mesh in scope, a `NamedSharding`,
        or a tree of these that is a prefix of the tuple of arguments; if None, each call must give them by keyword.

    Raises:
      TypeError: `in_sharding` is given neither here nor in the call.
      ValueError: no mesh with such axes is in scope or given.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("x",))
    >>> with px.set_mesh(mesh):
    ...     f = px.sharding.explicit_axes(lambda x: print(px.typeof(x)), in_sharding=px.P("x"))
    ...     px.jit(f)(px.numpy.zeros(4))
    float32[4@x]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_function("explicit_axes", "f", f)

    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        sharding = _required_sharding("explicit_axes", "in_sharding", in_sharding, kwargs)
        scope = _scope("explicit_axes", "in_sharding", sharding)
        outer = scope.abstract
        names = _named("explicit_axes", axes, outer.auto_axes, "Auto")
        inner = outer.update_axis_types(dict.fromkeys(names, AxisType.Explicit))
        leaves, structure = tree.flatten(args)
        specs = tree.flatten_axes("explicit_axes in_sharding", structure, sharding)
        specs = [s.spec if isinstance(s, NamedSharding) else s for s in specs]
        with axes_in_scope(inner, scope.mesh):
            moved = [_resharded("explicit_axes: in_sharding", x, s, inner) for x, s in zip(leaves, specs, strict=True)]
            outs = f(*tree.unflatten(structure, moved), **kwargs)
        with axes_in_scope(outer, scope.mesh):
            return tree.tree_map(lambda x: forgotten(x, outer), outs)

    return run


def _required_sharding(function: str, name: str, sharding: Any, kwargs: dict[str, Any]) -> Any:
    """The sharding given to the decorator, or else in the call, from whose keywords it is removed.

    Raises:
      TypeError: there is neither.
    """
    value = kwargs.pop(name, None) if sharding is None else sharding
    if value is None:
        raise TypeError(f"{function}: {name} must be given, at the call or to {function}, such as {name}=primax.P('x')")
    return value


def _scope(function: str, argument: str, shardings: Any) -> MeshScope:
    """The mesh in scope, or the mesh of the given shardings.

    Raises:
      ValueError: there is none, or there are several.
    """
    leaves = tree.tree_leaves(shardings, is_leaf=lambda x: isinstance(x, PartitionSpec))
    meshes = list(dict.fromkeys(x.mesh for x in leaves if isinstance(x, NamedSharding)))
    scope = current_scope()
    known = [] if scope is None else [scope.abstract.shape_tuple]
    if len(set(known + [mesh.abstract_mesh.shape_tuple for mesh in meshes])) > 1 or len(meshes) > 1:
        also = "" if scope is None else f", and {scope.abstract!r} is in scope"
        raise ValueError(f"{function}: {argument} must be over the same mesh, got {', '.join(map(repr, meshes))}{also}")
    if scope is not None:
        return scope
    if not meshes:
        raise ValueError(
            f"{function}: a mesh must be in scope, or given by {argument}; set one with primax.set_mesh, or pass "
            "NamedSharding(mesh, spec)"
        )
    return MeshScope(meshes[0], meshes[0].abstract_mesh, True)


def _named(function: str, axes: Any, allowed: Sequence[Any], kind: str) -> tuple[Any, ...]:
    """The names of axes, all of the same type."""
    names = tuple(allowed) if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    wrong = [name for name in names if name not in allowed]
    if wrong or not names:
        raise ValueError(
            f"{function}: axes must be axes of type {kind} of the mesh in scope, which has {tuple(allowed)}, got "
            f"{wrong or names}"
        )
    return names


def _sharding_of_params(mesh: Any, axes: Any, unreduced: Any = (), reduced: Any = ()) -> AvalSharding | None:
    """The sharding in the parameters of `reshard_p`."""
    if not (unreduced or reduced or any(axes)):
        return None
    return AvalSharding(mesh.abstract_mesh, axes, frozenset(unreduced), frozenset(reduced))


def _reshard_abstract_eval(x: ShapedArray, **params: Any) -> ShapedArray:
    return x.update(sharding=_sharding_of_params(**params))


def _result_sharding(x: ShapedArray, **params: Any) -> list[Any]:
    return [_sharding_of_params(**params)]


def _reshard_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    return [with_aval_sharding(ct, aval_sharding(x.aval))]


def _reshard_batch(args: Any, dims: Any, *, axes: Any, **params: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    mapped = axes_of_dims(get_aval(x))[dim]
    return reshard_p.bind(x, axes=(*axes[:dim], mapped, *axes[dim:]), **params), dim


def _reshard_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, mesh: Any, axes: Any, **pending: Any) -> list[Any]:
    module = ctx.module_context
    source, target = aval_sharding(ctx.avals_in[0]), aval_sharding(ctx.avals_out[0])
    if any(sharding is not None and sharding.unreduced for sharding in (source, target)):
        x = required_placement_rules().convert_unreduced(ctx, x)
    spmd = spmd_of(module)
    if spmd.partitions == 1 or spmd.manual is not None:
        return [x]
    aval = array_in_module(ctx.avals_out[0])
    explicit = aval_sharding(aval)
    mesh, spec = (spmd.mesh, PartitionSpec()) if explicit is None else (explicit.mesh, explicit.spec)
    return [constrained(module, x, mesh, spec, len(aval.shape))]


def _forget_abstract_eval(x: ShapedArray, *, mesh: AbstractMesh | None, mapped: tuple[int, ...]) -> ShapedArray:
    return x.update(sharding=_remaining_sharding(x, mesh, mapped))


def _remaining_sharding(x: ShapedArray, mesh: AbstractMesh | None, mapped: tuple[int, ...]) -> AvalSharding | None:
    """The part of a sharding along axes that are explicit in another mesh, or of dimensions that are mapped.

    Raises:
      ShardingTypeError: a sum along axes that are not explicit is pending.
    """
    explicit = aval_sharding(x)
    if explicit is None:
        return None
    if not explicit.unreduced.issubset(() if mesh is None else mesh.explicit_axes):
        raise ShardingTypeError(
            f"a value of type {x.str_short()} is unreduced, and XLA cannot choose its sharding; sum first, with "
            f"primax.reshard(x, {explicit.spec.update(unreduced=frozenset(), reduced=frozenset())})"
        )
    if mesh is not None:
        return explicit_part(mesh, _spec_in(mesh, explicit), len(x.shape))
    axes = tuple([names if i in mapped else () for i, names in enumerate(explicit.axes)])
    return AvalSharding(explicit.mesh, axes) if any(axes) else None


def _spec_in(mesh: AbstractMesh, explicit: AvalSharding) -> PartitionSpec:
    """A sharding as a specification, without reduced axes that are not explicit in a mesh."""
    return explicit.spec.update(reduced=explicit.reduced.intersection(mesh.explicit_axes))


def _forgotten_sharding(x: ShapedArray, *, mesh: AbstractMesh | None, mapped: tuple[int, ...]) -> list[Any]:
    return [_remaining_sharding(x, mesh, mapped)]


def _forget_batch(args: Any, dims: Any, *, mesh: AbstractMesh | None, mapped: tuple[int, ...]) -> tuple[Any, Any]:
    (dim,) = dims
    return forget_p.bind(*args, mesh=mesh, mapped=(*renumbered(mapped, dim), dim)), dim


def _forget_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    return [with_aval_sharding(ct, aval_sharding(x.aval))]


def with_aval_sharding(x: Any, explicit: AvalSharding | None) -> Any:
    """A value whose type records this sharding; None for one that XLA chooses."""
    before = aval_sharding(get_aval(x))
    if before is explicit:
        return x
    recorded = [sharding for sharding in (before, explicit) if sharding is not None]
    mapped = frozenset(recorded[-1].mesh.manual_axes)
    if mapped and any(sharding.is_pending for sharding in recorded):
        pending = (_NONE, _NONE) if explicit is None else (explicit.unreduced & mapped, explicit.reduced & mapped)
        x = required_placement_rules().recast(x, *pending)
        if aval_sharding(get_aval(x)) is explicit:
            return x
    if explicit is None:
        aval = get_aval(x)
        current = aval.placement.explicit
        if current.unreduced:
            x = reshard_p.bind(x, **_params(current.mesh, aval.ndim, current.with_pending(_NONE, _NONE)))
        return x if aval_sharding(get_aval(x)) is None else forget_p.bind(x, mesh=None, mapped=())
    return reshard_p.bind(x, **_params(explicit.mesh, len(explicit.axes), explicit))


RULES: Table = {
    reshard_p: {
        "abstract_eval": _reshard_abstract_eval,
        "jvp": ad.linear_jvp(reshard_p),
        "transpose": ad.linear_transpose2(reshard_p, _reshard_transpose),
        "batch": _reshard_batch,
        "lowering": _reshard_lowering,
        "sharding": ShardingRule(_result_sharding, whole_shardings=True),
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
    forget_p: {
        "abstract_eval": _forget_abstract_eval,
        "jvp": ad.linear_jvp(forget_p),
        "transpose": ad.linear_transpose2(forget_p, _forget_transpose),
        "batch": _forget_batch,
        "lowering": lambda ctx, x, **params: [x],
        "sharding": ShardingRule(_forgotten_sharding, whole_shardings=True, left_to_xla=True),
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.resharding:SAMPLES"], **rules)
