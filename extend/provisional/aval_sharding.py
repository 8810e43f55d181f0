"""The placement of a type: its sharding along explicit mesh axes, and the mapped axes along which values vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from primax.core.avals import get_aval
from primax.core.pickling import pickled
from primax.core.placement import Placement
from primax.interpreters.runtime.sharding.mesh import AbstractMesh, AxisType, PartitionSpec, current_scope
from primax.interpreters.runtime.sharding.shardings import NamedSharding

__all__ = [
    "AvalSharding",
    "Axes",
    "TypePlacement",
    "aval_sharding",
    "axes_of_dims",
    "changed",
    "explicit_part",
    "manual_axis_type",
    "size_text",
    "vma_of",
    "whole",
]

Axes = tuple[tuple[Any, ...], ...]  # for each dimension, the mesh axes that divide it
Names = frozenset[Any]
_NONE: Names = frozenset()

_shardings: WeakValueDictionary[Any, AvalSharding] = WeakValueDictionary()
_placements: WeakValueDictionary[Any, TypePlacement] = WeakValueDictionary()


class AvalSharding:
    """The sharding of an array along explicit axes of a mesh, as types record it. Equal shardings are one object.

    Attributes:
      mesh: the axes of the mesh.
      axes: for each dimension of the array, the mesh axes that divide it, the coarsest first.
      unreduced: the mesh axes along which each device has a summand of the array.
      reduced: the mesh axes along which all devices have the same value; each has a summand of the cotangent.
    """

    __slots__ = ("__weakref__", "axes", "mesh", "reduced", "unreduced")

    mesh: AbstractMesh
    axes: Axes
    unreduced: Names
    reduced: Names

    def __new__(cls, mesh: AbstractMesh, axes: Axes, unreduced: Names = _NONE, reduced: Names = _NONE) -> AvalSharding:
        key = mesh, axes, unreduced, reduced
        known = _shardings.get(key)
        if known is not None:
            return known
        sharding = super().__new__(cls)
        sharding.mesh, sharding.axes, sharding.unreduced, sharding.reduced = key
        return _shardings.setdefault(key, sharding)

    @property
    def spec(self) -> PartitionSpec:
        """The specification, with an entry for every dimension."""
        return PartitionSpec(*[names or None for names in self.axes], unreduced=self.unreduced, reduced=self.reduced)

    @property
    def is_pending(self) -> bool:
        """Whether the array or its cotangent is unreduced."""
        return bool(self.unreduced or self.reduced)

    @property
    def of_cotangents(self) -> AvalSharding:
        """The sharding of cotangents: reduced arrays have unreduced cotangents, and vice versa."""
        return AvalSharding(self.mesh, self.axes, self.reduced, self.unreduced) if self.is_pending else self

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return self.mesh.size_along([*(name for names in self.axes for name in names), *self.unreduced]) == 1

    def with_axes(self, axes: Axes) -> AvalSharding | None:
        """A sharding of dimensions along other mesh axes; None if it is trivial."""
        return AvalSharding(self.mesh, axes, self.unreduced, self.reduced) if any(axes) or self.is_pending else None

    def with_pending(self, unreduced: Names, reduced: Names) -> AvalSharding | None:
        """A sharding with other unreduced and reduced axes; None if it is trivial."""
        if not (unreduced or reduced or any(self.axes)):
            return None
        return AvalSharding(self.mesh, self.axes, frozenset(unreduced), frozenset(reduced))

    def update(self, **changes: Any) -> AvalSharding:
        """A copy with `spec` or `mesh` replaced; a new specification must have an entry for every dimension.

        Raises:
          TypeError: `changes` has another name.
        """
        unknown = sorted(changes.keys() - {"mesh", "spec"})
        if unknown:
            raise TypeError(f"AvalSharding.update: changes must be among ['mesh', 'spec'], got {unknown}")
        spec = changes.get("spec", self.spec)
        mesh = changes.get("mesh", self.mesh)
        return AvalSharding(mesh, tuple(map(spec.along, range(len(spec)))), spec.unreduced, spec.reduced)

    def without(self, dim: int) -> AvalSharding | None:
        """The sharding of an element along a dimension."""
        return self.with_axes((*self.axes[:dim], *self.axes[dim + 1 :]))

    def with_whole(self, dim: int) -> AvalSharding | None:
        """The sharding of a stack along a new dimension, which is not divided."""
        return self.with_axes((*self.axes[:dim], (), *self.axes[dim:]))

    def __repr__(self) -> str:
        return f"AvalSharding({self.spec!r})"

    def __reduce__(self) -> Any:
        name = f"{__name__}:AvalSharding"
        return pickled(name, self.mesh, self.axes, self.unreduced, self.reduced)


class TypePlacement(Placement):
    """How several devices hold the values of a type. Equal placements are one object.

    Attributes:
      explicit: the sharding along explicit axes; None if there is none.
      vma: the mapped axes along which values may vary.
    """

    __slots__ = ("explicit", "vma")

    explicit: AvalSharding | None
    vma: Names

    def __new__(cls, explicit: AvalSharding | None, vma: Names) -> TypePlacement:
        key = explicit, vma
        known = _placements.get(key)
        if known is not None:
            return known
        placement = super().__new__(cls)
        placement.explicit, placement.vma = key
        return _placements.setdefault(key, placement)

    @property
    def sharding(self) -> NamedSharding | None:
        return None if self.explicit is None else NamedSharding(self.explicit.mesh, self.explicit.spec)

    @property
    def stack_axes(self) -> tuple[Any, ...]:
        explicit = self.explicit
        if explicit is None or not explicit.unreduced:
            return ()
        return tuple([name for name in explicit.mesh.explicit_axes if name in explicit.unreduced])

    def element(self, dim: int) -> TypePlacement | None:
        return self.with_explicit(None if self.explicit is None else self.explicit.without(dim))

    def stacked(self, dim: int) -> TypePlacement | None:
        return self.with_explicit(None if self.explicit is None else self.explicit.with_whole(dim))

    def along(self, placement: Placement | None, rank: int, dim: int) -> Placement | None:
        axis = self.explicit
        explicit, vma = (placement.explicit, placement.vma) if isinstance(placement, TypePlacement) else (None, _NONE)
        assert axis is not None  # only axes with a sharding have a placement
        (names,) = axis.axes
        axes = ((),) * rank if explicit is None else explicit.axes
        if axes[dim] == names or any(name in names for i, entry in enumerate(axes) if i != dim for name in entry):
            return placement  # the axis divides another dimension
        if explicit is not None and not (explicit.unreduced | explicit.reduced).isdisjoint(names):
            return placement
        axes = (*axes[:dim], names, *axes[dim + 1 :])
        return placement_of(AvalSharding(axis.mesh, axes) if explicit is None else explicit.with_axes(axes), vma)

    def reshaped(self, rank: int | None = None) -> TypePlacement | None:
        if rank is None or self.explicit is None:
            return self.with_explicit(None)
        axes = (*self.explicit.axes[:rank], *[()] * (rank - len(self.explicit.axes)))
        return self.with_explicit(self.explicit.with_axes(axes))

    def cotangent(self) -> TypePlacement | None:
        return self if self.explicit is None else self.with_explicit(self.explicit.of_cotangents)

    def equals_except_vma(self, other: Placement | None) -> bool:
        return self.explicit is (other.explicit if isinstance(other, TypePlacement) else None)

    def with_explicit(self, explicit: AvalSharding | None) -> TypePlacement | None:
        """A placement with another sharding; None if it is trivial."""
        return self if explicit is self.explicit else placement_of(explicit, self.vma)

    def in_module(self, shape: Sequence[int]) -> tuple[tuple[int, ...], TypePlacement | None]:
        """The shape and the placement of the array that holds values in a module: their summands are stacked."""
        names, explicit = self.stack_axes, self.explicit
        if explicit is None or not names:
            return tuple(shape), self
        axes = (*explicit.axes, *((name,) for name in names))
        stacked = AvalSharding(explicit.mesh, axes, explicit.unreduced.difference(names), explicit.reduced)
        return (*shape, *(explicit.mesh.shape[name] for name in names)), placement_of(stacked, self.vma)

    def text(self, shape: Sequence[Any]) -> tuple[str, str]:
        explicit = self.explicit
        sizes = map(str, shape) if explicit is None else map(size_text, shape, explicit.axes)
        marked = [("V", self.vma)]
        if explicit is not None:
            marked += [("U", explicit.unreduced), ("R", explicit.reduced)]
        marks = ", ".join([f"{mark}:{_axes_text(names)}" for mark, names in marked if names])
        return ",".join(sizes), "{" + marks + "}" if marks else ""

    def __repr__(self) -> str:
        return f"TypePlacement({self.explicit!r}, vma={sorted(self.vma, key=str)})"

    def __reduce__(self) -> Any:
        return pickled(f"{__name__}:TypePlacement", self.explicit, self.vma)


def placement_of(explicit: AvalSharding | None, vma: Names) -> TypePlacement | None:
    """A placement; None if it is trivial."""
    return TypePlacement(explicit, vma) if explicit is not None or vma else None


def aval_sharding(aval: Any) -> AvalSharding | None:
    """The sharding that a type records; None if there is none."""
    return getattr(getattr(aval, "placement", None), "explicit", None)


def vma_of(x: Any) -> Names:
    """The mapped axes along which a value may vary."""
    return getattr(get_aval(x), "vma", _NONE)


def axes_of_dims(aval: Any) -> Axes:
    """For each dimension of a type, the explicit axes that divide it."""
    explicit = aval_sharding(aval)
    return ((),) * len(aval.shape) if explicit is None else explicit.axes


def _axes_text(axes: Names) -> str:
    """Names of axes as types show them: `x`, `(x,y)`."""
    names = sorted(map(str, axes))
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def size_text(size: Any, names: Sequence[Any]) -> str:
    """The text of a dimension in types: `8@x`."""
    if not names:
        return str(size)
    return f"{size}@{names[0]}" if len(names) == 1 else f"{size}@({','.join(map(str, names))})"


def explicit_part(mesh: Any, spec: PartitionSpec, rank: int) -> AvalSharding | None:
    """The part of a sharding that types record: explicit axes and pending sums; None if there are none.

    Args:
      mesh: the mesh, or its axes.
      spec: the specification.
      rank: the rank of the array.
    """
    abstract: AbstractMesh = mesh.abstract_mesh
    kinds = dict(zip(abstract.axis_names, abstract.axis_types, strict=True))
    axes = tuple([tuple([name for name in spec.along(i) if kinds[name] is AxisType.Explicit]) for i in range(rank)])
    if spec.unreduced or spec.reduced:
        return AvalSharding(abstract, axes, spec.unreduced, spec.reduced)
    return AvalSharding(abstract, axes) if any(axes) else None


def changed(placement: Placement | None, shape: Sequence[int], changes: dict[str, Any]) -> TypePlacement | None:
    """A placement with another `vma` or `sharding`.

    Raises:
      TypeError: `vma` is not a set, or `sharding` is neither that of a type nor one over a mesh.
      ValueError: the sharding is that of an array of another rank, or a specification of more dimensions.
    """
    explicit, vma = (placement.explicit, placement.vma) if isinstance(placement, TypePlacement) else (None, _NONE)
    sharding, vma = changes.get("sharding", explicit), changes.get("vma", vma) or _NONE
    if not isinstance(vma, set | frozenset):
        raise TypeError(f"ShapedArray: vma must be a set of names of mesh axes, got {vma!r}")
    if not isinstance(sharding, NamedSharding | AvalSharding | None):
        raise TypeError(
            f"ShapedArray: sharding must be a NamedSharding, or the sharding of another type, or None, got {sharding!r}"
        )
    if sharding is not None and sharding is not explicit:
        parts = sharding.axes if isinstance(sharding, AvalSharding) else sharding.spec
        if len(parts) > len(shape) or (isinstance(sharding, AvalSharding) and len(parts) < len(shape)):
            raise ValueError(
                f"ShapedArray: sharding must have a part for each dimension of {tuple(shape)}, got {sharding}"
            )
        if isinstance(sharding, AvalSharding):
            sharding = sharding.with_axes(sharding.axes)
        else:
            sharding = explicit_part(sharding.mesh, sharding.spec, len(shape))
    return placement_of(sharding, frozenset(vma))


class ManualAxisType(NamedTuple):
    """The placement of a type along mapped axes, as in JAX.

    Attributes:
      varying: the axes along which devices may have different values.
      unreduced: the axes along which each device has a summand.
      reduced: the axes along which all devices have the same value; each has a summand of the cotangent.
    """

    varying: Names
    unreduced: Names
    reduced: Names


def manual_axis_type(placement: Placement | None) -> ManualAxisType:
    """The placement of a type along mapped axes."""
    if not isinstance(placement, TypePlacement):
        return ManualAxisType(_NONE, _NONE, _NONE)
    explicit = placement.explicit
    return ManualAxisType(
        placement.vma, *((_NONE, _NONE) if explicit is None else (explicit.unreduced, explicit.reduced))
    )


def whole(rank: int) -> NamedSharding:
    """The sharding of a type without placement, on the mesh in scope."""
    scope = current_scope()
    return NamedSharding(_NO_MESH if scope is None else scope.abstract, PartitionSpec(*[None] * rank))


_NO_MESH = AbstractMesh((), ())
