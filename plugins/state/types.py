"""The type of references, and their effects."""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakValueDictionary

from primax.extend.core import AbstractValue, ShapedArray
from primax.extend.effects import Effect, Mutates, OperandEffect, register_effect


class AbstractRef(AbstractValue):
    """The type of a reference: that of its contents, and its memory. There is one object for each type.

    Args:
      inner_aval: the type of the contents.
      memory_space: the memory that holds them, or None.
      kind: a name for lowerings, or None.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.typeof(px.new_ref(pnp.zeros(3)))
      Ref{f32[3]}
      >>> px.typeof(px.new_ref(pnp.zeros(3)).at[0])
      Traceback (most recent call last):
          ...
      TypeError: a view of a reference is read by view[...]; pass the reference itself (an argument of typeof)
    """

    __slots__ = ("inner_aval", "kind", "memory_space")

    mutable = True
    operations: ClassVar[Any] = None  # the module that reads and writes references
    run: ClassVar[Any] = None  # runs an executable of a program that takes references
    inner_aval: ShapedArray
    memory_space: Any
    kind: Any

    def __new__(cls, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> AbstractRef:
        key = inner_aval, memory_space, kind
        known = _known.get(key)
        if known is None:
            known = object.__new__(cls)
            known.inner_aval, known.memory_space, known.kind = key
            known = _known.setdefault(key, known)
        return known

    def __reduce__(self) -> Any:
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.inner_aval.shape)

    @property
    def size(self) -> int:
        return self.inner_aval.size

    @property
    def weak_type(self) -> bool:
        return False

    def to(self, inner_aval: Any) -> AbstractRef:
        """The type of a reference to contents of another type."""
        return AbstractRef(inner_aval, self.memory_space, self.kind)

    @property
    def placement(self) -> Any:
        return None

    def to_tangent_aval(self) -> AbstractRef:
        """The type of a reference to tangents."""
        return self.to(self.inner_aval.to_tangent_aval())

    def mapped(self, size: int, dim: int | None) -> AbstractRef:
        """The type of a reference to one element along an axis."""
        return self.to(self.inner_aval.mapped(size, dim))

    def unmapped(self, size: int, dim: int | None) -> AbstractRef:
        """The type of a reference to several such contents along a new axis."""
        return self.to(self.inner_aval.unmapped(size, dim))

    def make(self, value: Any) -> Any:
        """A new reference of this type."""
        return self.operations.new_ref(value, self.memory_space, self.kind)

    # The operations of transformations on references among their arguments.

    def read(self, ref: Any) -> Any:
        """The contents of a reference of this type."""
        return self.operations.get(ref)

    def write(self, ref: Any, value: Any) -> None:
        """Replace the contents of a reference of this type."""
        self.operations.set(ref, ..., value)

    def add(self, ref: Any, value: Any) -> None:
        """Add to the contents of a reference of this type."""
        self.operations.addupdate(ref, ..., value)

    def cell(self, trace: Any, value: Any) -> Any:
        """A reference inside a transformation, which stands for one outside."""
        return self.operations.Ref(value, self, trace)

    def last(self, ref: Any, first: Any) -> Any:
        """The contents of a reference inside a transformation that has ended; None if they are still the first ones."""
        return None if ref._value is first else ref._value

    def str_short(self) -> str:
        place = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{place}{{{self.inner_aval.str_short()}}}"


_known: WeakValueDictionary[Any, AbstractRef] = WeakValueDictionary()


class ReadEffect(OperandEffect):
    """The effect of reading a reference."""

    __slots__ = ()


class WriteEffect(Mutates):
    """The effect of writing to a reference."""

    __slots__ = ()


class EndEffect(WriteEffect):
    """The effect of ending a reference, which has no contents afterwards."""

    __slots__ = ()

    ends = True


class AccumEffect(Mutates):
    """The effect of adding to a reference."""

    __slots__ = ()


class NewRefEffect(Effect):
    """The effect of making a reference inside a program, which is discharged before the program is lowered."""

    __slots__ = ()

    whole_batch = True  # a mapped loop with it runs as one

    def __eq__(self, other: object) -> bool:
        return type(other) is NewRefEffect

    def __hash__(self) -> int:
        return hash(NewRefEffect)

    def __repr__(self) -> str:
        return "NewRef"


new_ref_effect = NewRefEffect()

for _kind in (ReadEffect, WriteEffect, EndEffect, AccumEffect, NewRefEffect):
    register_effect(_kind, control_flow=True, custom_derivatives=True)


def _refuse(*args: Any) -> Any:
    raise TypeError("an array is needed here, got a reference; pass its contents, ref[...]")


# The array protocol of references: interpreters ask for it where they need an array.
REFUSALS: dict[str, Any] = dict.fromkeys(
    ("zeros", "add", "broadcast", "moveaxis", "convert", "index", "stack"), _refuse
)
