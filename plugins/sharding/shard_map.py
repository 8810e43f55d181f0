"""`shard_map`: a function as the program of each device of a mesh, on its parts of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from primax.extend import core
from primax.extend.core import tree
from primax.extend.programs import Program
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import avals_of, check_function, name_of, wraps
from primax.extend.provisional.programs import check_outputs, new_programs, programs_of, remember, surroundings
from primax.extend.provisional.sharding import aval_sharding, check_spec, current_scope, manual_scope, vary
from primax.extend.provisional.typing import AxisNames
from primax.extend.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from primax.plugins.sharding.parts import check_in_spec, part_aval, refuse_composite

shard_map_p = core.Primitive("shard_map", multiple_results=True)

_MISSING = object()


_P = ParamSpec("_P")
_R = TypeVar("_R")


class ShardMapOptions(TypedDict, total=False):
    """The options of `shard_map`."""

    mesh: Mesh | AbstractMesh | None
    in_specs: object
    out_specs: object
    axis_names: Collection[Hashable]
    check_vma: bool


@overload
def shard_map(f: Callable[_P, _R], /, **options: Unpack[ShardMapOptions]) -> Callable[_P, _R]: ...
@overload
def shard_map(
    f: None = None, /, **options: Unpack[ShardMapOptions]
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: object = _MISSING,
    out_specs: object = _MISSING,
    axis_names: Collection[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that runs `f` on each device of a mesh, with that device's shards of the arguments.

    Inside of `f`, the axes of the mesh are in scope: `lax.psum(x, "i")` sums over the devices along the axis `i`.

    Args:
      f: takes parts of arrays in any containers, and returns parts.
      mesh: the mesh; None means the mesh in scope.
      in_specs: the specification of each argument: a `PartitionSpec` that names mesh axes, in the structure of the
        arguments or a prefix of it. Along an axis that it omits, all devices get the same value; None omits all axes.
        If it is not given, it is the shardings in the types of the arguments, and all axes must be of type `Explicit`.
      out_specs: the same for the results. Along an axis that it omits, all devices must return the same value.
      axis_names: the axes along which `f` is a per-device program; XLA divides its work along the others. Empty means
        all axes.
      check_vma: whether types record the axes along which values vary. Then `out_specs` is checked, and derivatives
        communicate only where necessary.

    Returns:
      A function of whole arrays.

    Raises:
      TypeError: `f` is not callable, or a specification is not a `PartitionSpec`.
      ValueError: no mesh is in scope; a specification names an axis twice or one that the mesh does not have, or does
        not fit an array; a result may differ along an axis that `out_specs` omits.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("i",))
    >>> f = px.shard_map(lambda x: px.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=px.P("i"), out_specs=px.P())
    >>> float(f(px.numpy.arange(4.0)))
    6.0
    """
    if out_specs is _MISSING:
        raise TypeError("shard_map: out_specs must be given: a PartitionSpec, or a tree of them")
    if in_specs is not _MISSING:
        _check_specs("in_specs", in_specs)
    _check_specs("out_specs", out_specs)
    if f is None:
        return functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=axis_names, check_vma=check_vma
        )
    check_function("shard_map", "f", f)

    name = name_of(f)
    ins = PartitionSpec() if in_specs is None else tuple(in_specs) if type(in_specs) is list else in_specs
    out_leaves, out_structure = tree.flatten(out_specs, lambda x: x is None)
    out_key = (tuple(out_leaves), out_structure)
    shared = programs_of(f)
    programs = new_programs() if shared is None else shared

    @wraps(f)
    def mapped(*args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        where = _mesh(mesh, leaves)
        axes = _axes(where, axis_names)
        avals = avals_of(leaves, (args, {}), f"shard_map of {name}", call=True)
        refuse_composite(f"shard_map of {name}", avals)
        prefix = _recorded_specs(name, in_tree, avals, where, axes) if ins is _MISSING else ins
        flat_ins = tuple(_specs(f"shard_map of {name}", "in_specs", in_tree, prefix, where, axes))
        key = ("shard_map", in_tree, tuple(avals), flat_ins, out_key, where, axes, check_vma, surroundings())

        def make() -> Program:
            parts = []
            for i, (spec, aval) in enumerate(zip(flat_ins, avals, strict=True)):
                check_in_spec(f"shard_map of {name}: in_specs of argument {i}", where, spec, aval, axes)
                if not check_vma and (spec.unreduced or spec.reduced):
                    raise ValueError(
                        f"shard_map of {name}: in_specs of argument {i} is {spec}, but with check_vma=False types do "
                        "not record sums that are taken later; leave out check_vma"
                    )
                parts.append(part_aval(where, spec, aval, check_vma, axes))
            return _stage(f, name, in_tree, parts, out_specs, where, axes, check_vma)

        program = remember(programs, key, make)
        consts = program.closed.consts
        outs = shard_map_p.bind(
            *consts,
            *leaves,
            jaxpr=program.open,
            mesh=where,
            in_specs=(PartitionSpec(),) * len(consts) + flat_ins,
            out_specs=program.outs,
            manual_axes=axes,
            check_vma=check_vma,
        )
        if set(axes) == set(where.axis_names) and any(spec and spec[-1] is None for spec in program.outs):
            outs = [_with_spec(x, where, spec) for x, spec in zip(outs, program.outs, strict=True)]
        return tree.unflatten(program.out_tree, outs)

    return mapped


def _with_spec(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    """A result with the specification as it was given; XLA's has no None at its end. Tracers are returned unchanged."""
    if type(x) is not core.Array or not spec or spec[-1] is not None or x.sharding.spec == spec:
        return x
    parts = [x.addressable_data(i) for i in range(len(x.sharding.addressable_devices))]
    return runtime.of_parts(x.aval, NamedSharding(mesh, spec), parts)


def _stage(
    f: Callable[..., Any],
    name: str,
    in_tree: Any,
    parts: Sequence[Any],
    out_specs: Any,
    mesh: Mesh,
    axes: tuple[Any, ...],
    checked: bool,
) -> Program:
    """The per-device program, with the specifications of its results."""
    staged: list[Any] = []

    def run(*flat: Any) -> list[Any]:
        outs, out_tree = tree.flatten(f(*tree.unflatten(in_tree, flat)))
        check_outputs(outs, out_tree, name)
        flat_outs = _specs(f"shard_map of {name}", "out_specs", out_tree, out_specs, mesh, axes)
        staged.append((out_tree, tuple(flat_outs)))
        return [
            _checked_result(x, spec, axes, checked, f"shard_map of {name}", i)
            for i, (x, spec) in enumerate(zip(outs, flat_outs, strict=True))
        ]

    with manual_scope(mesh, axes, checked):
        closed = core.trace_to_jaxpr(run, parts, name, "shard_map")
    out_tree, flat_outs = staged[0]
    return Program(closed, in_tree, out_tree, outs=flat_outs)


def smap(f: Callable[..., Any] | None = None, /, *, in_axes: object, out_axes: object, axis_name: AxisNames) -> Any:
    """`shard_map` along one axis of the mesh in scope, with axes of arrays instead of specifications.

    Args:
      f: takes parts of arrays in any containers, and returns parts.
      in_axes: the divided axis of each argument, or None; or a prefix of the arguments' structure.
      out_axes: the same for the results.
      axis_name: the axis of the mesh.

    Raises:
      ValueError: no mesh is in scope, or it has no such axis.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> with px.set_mesh(px.make_mesh((1,), ("x",))):
      ...     total = px.smap(lambda part: px.lax.psum(part.sum(), "x"), in_axes=0, out_axes=None, axis_name="x")
      ...     total(pnp.arange(4))
      Array(6, dtype=int32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: Any) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    def specs(axes: Any) -> Any:
        return tree.tree_map(spec, axes, is_leaf=lambda x: x is None)

    return shard_map(f, in_specs=specs(in_axes), out_specs=specs(out_axes), axis_names={axis_name})


def _check_specs(name: str, specs: Any) -> None:
    for leaf in tree.flatten(specs, lambda x: x is None)[0]:
        if leaf is not None and not isinstance(leaf, PartitionSpec):
            raise TypeError(f"shard_map: {name} must hold PartitionSpecs such as primax.P('x', None), got {leaf!r}")


def _mesh(mesh: Any, args: Sequence[Any]) -> Mesh:
    """The mesh of a shard_map; for a mesh without devices the mesh in scope or that of the arguments."""
    scope = current_scope()
    if mesh is None:
        if scope is None or scope.mesh is None:
            raise ValueError(
                "shard_map: mesh is None, and no mesh is in scope; pass one, or set it with primax.set_mesh"
            )
        return scope.mesh
    if not isinstance(mesh, Mesh):
        if scope is not None and scope.mesh is not None and scope.mesh.abstract_mesh.shape_tuple == mesh.shape_tuple:
            return scope.mesh
        if not isinstance(mesh, AbstractMesh):
            raise TypeError(f"shard_map: mesh must be a Mesh, or the axes of the mesh in scope, got {mesh!r}")
        meshes = [x.sharding.mesh for x in args if type(x) is core.Array and isinstance(x.sharding, NamedSharding)]
        own = next(iter(meshes), None)
        if own is None or any(other.shape_tuple != mesh.shape_tuple for other in meshes):
            raise ValueError(
                f"shard_map: mesh must be a Mesh with devices, or the axes of the mesh in scope or of the arguments, "
                f"got {mesh!r}"
            )
        return own
    return mesh


def _axes(mesh: Mesh, names: Any) -> tuple[Any, ...]:
    """The axes along which the function is a per-device program, in the order of the mesh."""
    chosen = {names} if isinstance(names, str) else set(names)
    unknown = chosen - set(mesh.axis_names)
    if unknown:
        raise ValueError(f"shard_map: axis_names must be axes of {mesh!r}, got {', '.join(sorted(map(repr, unknown)))}")
    scope = current_scope()
    taken = set(scope.abstract.manual_axes) if scope is not None else set()
    if chosen & taken:
        raise ValueError(
            f"shard_map: axis_names must not be mapped by an outer shard_map, got "
            f"{', '.join(sorted(map(repr, chosen & taken)))}; it maps {', '.join(sorted(map(repr, taken)))}"
        )
    return tuple(name for name in mesh.axis_names if (name in chosen if chosen else name not in taken))


def _recorded_specs(name: str, structure: Any, avals: Sequence[Any], mesh: Mesh, axes: Sequence[Any]) -> Any:
    """The specifications in the types of arguments.

    Raises:
      TypeError: types have none, since an axis is not explicit.
    """
    scope = current_scope()
    along = mesh.abstract_mesh
    if scope is not None and scope.abstract.shape_tuple == mesh.shape_tuple:
        along = scope.abstract
    explicit = along.explicit_axes
    others = [axis for axis in axes if axis not in explicit]
    if others:
        raise TypeError(
            f"shard_map of {name}: in_specs must be given, a PartitionSpec or a tree of them: types do not say how "
            "values are divided along the axes "
            f"{', '.join(map(repr, others))} of {mesh!r}, which are not of type Explicit"
        )
    return tree.unflatten(structure, [_spec_along(aval_sharding(aval), axes) for aval in avals])


def _spec_along(explicit: Any, axes: Sequence[Any]) -> PartitionSpec:
    """The part of a sharding along some axes, as a specification."""
    if explicit is None:
        return PartitionSpec()
    dims = [tuple([axis for axis in along if axis in axes]) or None for along in explicit.axes]
    return PartitionSpec(
        *dims, unreduced=explicit.unreduced.intersection(axes), reduced=explicit.reduced.intersection(axes)
    )


def _specs(what: str, name: str, structure: Any, prefix: Any, mesh: Mesh, axes: Sequence[Any]) -> list[PartitionSpec]:
    specs = tree.flatten_axes(f"{what}: {name}", structure, prefix)
    checked = []
    for spec in specs:
        spec = PartitionSpec() if spec is None else spec
        check_spec(f"{what}: {name}", mesh, spec)
        others = [axis for axis in (*spec.axes, *spec.unreduced, *spec.reduced) if axis not in axes]
        if others:
            raise ValueError(
                f"{what}: {name} must name only axes that this shard_map maps, "
                f"{', '.join(map(repr, axes)) or 'none, since an outer shard_map maps all'}, got {spec} with "
                f"{', '.join(map(repr, others))}"
            )
        checked.append(spec)
    return checked


def _checked_result(x: Any, spec: PartitionSpec, axes: Sequence[Any], checked: bool, what: str, i: int) -> Any:
    aval = core.get_aval(x)
    if len(spec) > len(aval.shape):
        raise ValueError(
            f"{what}: out_specs of result {i} is {spec}, which needs at least {len(spec)} axes, but the result is "
            f"{aval.str_short()}; remove the entries beyond its axes, or add an axis, as in x[None]"
        )
    if not checked:
        if spec.unreduced or spec.reduced:
            raise ValueError(
                f"{what}: out_specs of result {i} is {spec}, but with check_vma=False types do not record sums that "
                "are taken later; leave out unreduced and reduced, or check_vma"
            )
        return x
    explicit = aval_sharding(aval)
    for name, specified in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        recorded = frozenset() if explicit is None else getattr(explicit, name).intersection(axes)
        if recorded != specified:
            remedy = "lax.psum sums unreduced values" if name == "unreduced" else "lax.pcast makes reduced values vary"
            raise ValueError(
                f"{what}: out_specs of result {i} is {spec}, which must be {name} along the same axes as the result of "
                f"type {aval.str_short()}; {remedy}, and lax.pcast(x, axis, to={name!r}) makes it {name}"
            )
    wrong = [name for name in axes if name in aval.vma and name not in spec.axes]
    if wrong:
        named = ", ".join(map(repr, wrong))
        raise ValueError(
            f"{what}: result {i} of type {aval.str_short()} may differ along {named}, which out_specs {spec} leaves "
            f"out. Name the axis there, or make the result the same along it: lax.psum, pmean, pmax or all_gather(..., "
            f"to='invarying'). check_vma=False takes the value of the first device unchecked"
        )
    return vary(x, frozenset(spec.axes))
