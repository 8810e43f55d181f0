"""Placement: how devices hold the values of a type.

The kernel knows only the interface: a slot of `ShapedArray`, which is None for values on one device, and one object of
rules, which the plugin `sharding` supplies when a program first needs them. The class is `TypePlacement` of extend.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from primax.core import rules as rule_tables


class Space(enum.Enum):
    """A memory space. All arrays are in device memory, which on CPUs is host memory."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()


class Placement:
    """How devices hold the values of a type. Subclasses are immutable; equal placements are one object."""

    __slots__ = ("__weakref__",)

    vma: frozenset[Any] = frozenset()
    """The mapped axes along which devices may have different values."""

    @property
    def sharding(self) -> Any:
        """The sharding along axes that types record; None if there is none."""
        return None

    @property
    def stack_axes(self) -> tuple[Any, ...]:
        """The axes along which a module stacks the summands of a value."""
        return ()

    def element(self, dim: int) -> Placement | None:
        """The placement of an element along a dimension."""
        raise NotImplementedError

    def stacked(self, dim: int) -> Placement | None:
        """The placement of a stack along a new dimension."""
        raise NotImplementedError

    def along(self, placement: Placement | None, rank: int, dim: int) -> Placement | None:
        """For the placement of an axis: that of values whose dimension `dim` is divided like the axis, if possible."""
        raise NotImplementedError

    def reshaped(self, rank: int | None = None) -> Placement | None:
        """The placement of an array of another shape; with a rank, dimensions are added or removed at the end."""
        raise NotImplementedError

    def cotangent(self) -> Placement | None:
        """The placement of cotangents."""
        raise NotImplementedError

    def equals_except_vma(self, other: Placement | None) -> bool:
        """Whether another placement differs at most in the axes along which values vary."""
        raise NotImplementedError

    def in_module(self, shape: Sequence[Any]) -> tuple[tuple[Any, ...], Placement | None]:
        """The shape and the placement of the array that holds a value in a module, with its summands stacked."""
        raise NotImplementedError

    def text(self, shape: Sequence[Any]) -> tuple[str, str]:
        """The sizes of the dimensions as types show them, and the marks after them: `("8@x,4", "{V:i}")`."""
        raise NotImplementedError


class PlacementRules(Protocol):
    """The functions of placements that the kernel's interpreters call. There is one such object."""

    def active(self) -> bool:
        """Whether values may be on several devices at present."""

    def converts_operands(self) -> bool:
        """Whether operands are converted before a primitive is applied, in the current scope."""

    def match_operands(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
        """The operands of a primitive, converted to have a common placement."""

    def result_placements(
        self, primitive: Any, avals: Sequence[Any], outs: list[Any], params: dict[str, Any]
    ) -> list[Any]:
        """The types of the results of a primitive, with placements."""

    def changed(self, placement: Placement | None, shape: Any, changes: Mapping[str, Any]) -> Placement | None:
        """A placement with another `vma` or `sharding`."""

    def whole(self, rank: int) -> Any:
        """The sharding of a type without placement."""

    def manual_axis_type(self, placement: Placement | None) -> Any:
        """The axes along which values vary, are unreduced and are reduced."""

    def like(self, x: Any, aval: Any) -> Any:
        """A value, converted to the placement of a type."""

    def output_cotangent(self, ct: Any, aval: Any) -> Any:
        """The cotangent of an output of a type, with the sums that this type requires."""

    def cotangent(self, ct: Any, ct_aval: Any, aval: Any) -> Any:
        """A cotangent of type `ct_aval` that a rule returned, converted to the placement of cotangents for a type."""

    def pull_back(self, rule: Callable[..., Any], ct: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The results of a transpose rule."""

    def mapped_axis(
        self, avals: Sequence[Any], dims: Sequence[int | None], argument: Callable[[int], str]
    ) -> Placement | None:
        """The placement of the axis that `vmap` maps, as that of an array of rank 1; `argument` names an argument."""


rules: Any = None  # the `PlacementRules`; None until a program needs them


def required() -> Any:
    """The rules; loads the plugin that has them.

    Raises:
      PluginError: the plugin is blocked.
    """
    if rules is None:
        rule_tables.loader.import_builtin("sharding")
    return rules


def placed_like(x: Any, aval: Any) -> Any:
    """A value, converted to the placement of a type."""
    return x if getattr(aval, "placement", None) is None else rules.like(x, aval)


def cotangent_aval(aval: Any) -> Any:
    """The type of cotangents for values of a type."""
    placement = getattr(aval, "placement", None)
    dual = None if placement is None else placement.cotangent()
    return aval if dual is placement else aval.update(placement=dual)


def without_placement(aval: Any) -> Any:
    """A type without placement, for programs inside of lowerings: XLA knows there how devices hold values."""
    return aval if getattr(aval, "placement", None) is None else aval.update(placement=None)
