"""References: cells of Python outside of programs, and variables of programs inside.

A reference has an owner: the innermost trace that stages a program between the current trace and the one that made the
reference. An access becomes an equation of the owner's program. Without an owner, the reference is a cell, whose value
is read and replaced at once by pure operations; so differentiation and vectorization need no rules for references.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, Tracer, get_aval, register_aval
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.sharding import match_placement
from primax.extend.provisional.tracing import encloses, thread
from primax.plugins.state.indices import WHOLE, Indices, put, split, take, type_of_elements
from primax.plugins.state.primitives import addupdate_p, empty2_p, free_p, freeze_p, get_p, ref_p, swap_p
from primax.plugins.state.types import AbstractRef
from primax.plugins.structural import broadcast_in_dim

# The traces that stage a program in which references are cells, since its references are being discharged.
# True where no derivative is taken later, so that custom derivative rules do not matter.
_discharging: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


# The variables of programs whose references were freed or frozen, with the functions that were called on them.
_ended: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


class _RefType(type):
    """Makes tracers of references instances of `Ref`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or (isinstance(x, Tracer) and isinstance(x.aval, AbstractRef))


class Ref(metaclass=_RefType):
    """A mutable array: a reference to contents that can be read and replaced, as a whole or in part.

    `px.new_ref` makes one. `ref[...]` reads all contents, `ref[i] = x` replaces some, `ref[i] += x` changes some, and
    `ref.at[i]` is a view of some. Indices are those of arrays.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> ref = px.new_ref(pnp.zeros(3))
      >>> ref[1] = 5
      >>> ref[-1] += 2
      >>> ref[...]
      Array([0., 5., 2.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_aval", "_shared", "_trace", "_value", "_why")

    is_reference = True  # `jit` refuses a static argument of such a class

    def __init__(self, value: Any, aval: AbstractRef, trace: Any) -> None:
        self._value = value
        self._aval = aval
        self._trace = trace  # None outside of transformations
        self._shared = True  # whether someone else may hold the value
        self._why = ""  # why it has no value any more

    @property
    def aval(self) -> AbstractRef:
        return self._aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype

    @property
    def ndim(self) -> int:
        return self._aval.ndim

    @property
    def size(self) -> int:
        return self._aval.size

    @property
    def sharding(self) -> Any:
        return contents(self, None).sharding

    @property
    def committed(self) -> bool:
        return bool(contents(self, None).committed)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a reference to contents of rank 0 has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        set(self, index, value)

    @property
    def at(self) -> At:
        return At(self, ())

    def get(self) -> Any:
        """All contents."""
        return get(self, ...)

    def set(self, value: Any) -> None:
        """Replace all contents."""
        set(self, ..., value)

    def swap(self, value: Any) -> Any:
        """Replace all contents, and return the earlier ones."""
        return swap(self, ..., value)

    def addupdate(self, value: Any) -> None:
        """Add to all contents."""
        addupdate(self, ..., value)

    def __iter__(self) -> Iterator[Any]:
        return iter(get(self, ...))

    def __bool__(self) -> bool:
        raise TypeError("bool: a reference has no truth value; read it by ref[...]")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return get(self, ...).__array__(*args, **kwargs)

    def __repr__(self) -> str:
        if self._why:
            return f"<Ref of {self._aval.inner_aval.str_short()}, after {self._why}>"
        text = repr(self._value)
        return f"Ref{text.removeprefix('Array')}" if type(self._value) is Array else f"Ref({text})"

    def __copy__(self, memo: Any = None) -> Any:
        raise TypeError("copy: a reference is not copied; px.new_ref(ref[...]) makes another one")

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        raise TypeError("pickle: a reference is not pickled; pickle its contents, ref[...]")


_METHODS = frozenset(("get", "set", "swap", "addupdate"))


def _attribute_of_tracer(self: Any, name: str) -> Any:
    """The methods of references, for tracers that stand for such in programs."""
    if name in _METHODS and isinstance(self.aval, AbstractRef):
        return getattr(Ref, name).__get__(self)
    others = getattr(super(Tracer, self), "__getattr__", None)  # there are some with types of users
    if others is not None:
        return others(name)
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


Tracer.__getattr__ = _attribute_of_tracer  # type: ignore[attr-defined]


_VIEW = "a view of a reference is read by view[...]; pass the reference itself"  # to a function that takes arrays


class At:
    """`ref.at`, which is indexed, or a view of elements of a reference; it is read and written as the reference."""

    __slots__ = ("_indices", "_ref")

    _not_an_array = _VIEW

    def __init__(self, ref: Any, indices: tuple[Any, ...]) -> None:
        self._ref = ref
        self._indices = indices

    def __getitem__(self, index: Any) -> View:
        return View(self._ref, (*self._indices, index))


class View:
    """Elements of a reference: `ref.at[index]`.

    It is read and written as a reference: `view[...]`, `view[i] = x`, `view.at[i]`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> ref = px.new_ref(pnp.zeros((2, 2)))
      >>> row = ref.at[1]
      >>> row[...] = pnp.array([3.0, 4.0])  # writes to ref
      >>> row[0], ref[1]
      (Array(3., dtype=float32), Array([3., 4.], dtype=float32))
    """

    __slots__ = ("_indices", "_ref")

    _not_an_array = _VIEW

    def __init__(self, ref: Any, indices: tuple[Any, ...]) -> None:
        self._ref = ref
        self._indices = indices

    @property
    def aval(self) -> AbstractRef:
        indices, operands = split(self._indices)
        aval = self._ref.aval
        return AbstractRef(type_of_elements(aval.inner_aval, indices, operands), aval.memory_space, aval.kind)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    at = property(lambda self: At(self._ref, self._indices))
    __getitem__, __setitem__, __len__ = Ref.__getitem__, Ref.__setitem__, Ref.__len__
    get, set, swap, addupdate = Ref.get, Ref.set, Ref.swap, Ref.addupdate
    __iter__, __bool__ = Ref.__iter__, Ref.__bool__

    def __repr__(self) -> str:
        return f"View({self._ref!r}, {', '.join(map(repr, self._indices))})"


register_aval(Ref, lambda ref: ref._aval)


def is_ref(x: Any) -> bool:
    """Whether `x` is a reference."""
    return type(x) is Ref or (isinstance(x, Tracer) and type(x.aval) is AbstractRef)


@contextmanager
def discharging(final: bool) -> Iterator[None]:
    """A `with` block in which the current trace has cells instead of references in its program."""
    trace = thread.trace
    _discharging[trace] = final
    try:
        yield
    finally:
        del _discharging[trace]


def is_final(trace: Any) -> bool:
    """Whether no derivative of a trace's operations is taken later: it evaluates, or lowers a program."""
    return not trace.tracing or _discharging.get(trace, False)


def stages(trace: Any) -> bool:
    """Whether a trace stages a program with references."""
    return trace.stages and trace not in _discharging


def owner_of(ref: Any) -> Any:
    """The trace whose program has the reference, or None for a cell.

    Raises:
      UnexpectedTracerError: the trace that made the reference has ended.
      TypeError: the reference is an argument that is differentiated.
    """
    made_in = ref._trace
    trace = thread.trace
    while trace is not None and trace is not made_in and not trace.continues(made_in):
        if stages(trace):
            return trace
        trace = trace.parent
    if trace is None:
        if made_in is not None:
            raise core.UnexpectedTracerError(
                f"a reference of type {ref.aval.str_short()} was used after the end of the transformation that made "
                "it; return ref[...] from the function instead"
            )
        return None
    if type(ref) is Ref:
        return None
    if not stages(trace):
        raise TypeError(
            f"a reference of type {ref.aval.str_short()} must not be an argument that is differentiated; differentiate "
            f"with respect to its contents, ref[...]"
        )
    if _ended and ref._var in _ended:
        raise _no_longer(ref, _ended[ref._var])
    return trace


def _no_longer(ref: Any, why: str) -> ValueError:
    return ValueError(f"a reference of type {ref.aval.str_short()} must not be used any more: {why} was called on it")


def _is_inside(x: Any, trace: Any) -> bool:
    """Whether a value belongs to a transformation inside of a trace; None stands for outside of all."""
    return isinstance(x, Tracer) and (trace is None or not encloses(x._trace, trace))


def new_ref(init: Any, memory_space: Any = None, kind: Any = None) -> Any:
    """A reference with the given contents; see `primax.new_ref`."""
    if is_ref(init) or type(init) in (View, At):
        raise TypeError("new_ref: value must be an array or a number, got a reference; px.new_ref(ref[...]) copies it")
    aval = get_aval(init)
    if not isinstance(aval, core.ShapedArray) or isinstance(init, core.ShapeDtypeStruct):
        raise TypeError(f"new_ref: value must be an array or a number, got {aval.str_short()}")
    trace = thread.trace
    _check_place("new_ref", memory_space, kind, trace)
    if stages(trace):
        return trace.process(ref_p, [init], {"memory_space": memory_space, "kind": kind})
    return _cell(init, AbstractRef(aval.strip_weak_type(), memory_space, kind))


def empty_ref(shape: Any, dtype: Any, memory_space: Any = None, kind: Any = None) -> Any:
    """A reference with contents that must be written before they are read."""
    trace = thread.trace
    _check_place("empty_ref", memory_space, kind, trace)
    aval = core.ShapedArray(shape, dtype)
    if stages(trace):
        params = {"shape": aval.shape, "dtype": aval.dtype, "memory_space": memory_space, "kind": kind}
        return trace.process(empty2_p, [], params)
    return _cell(core.protocol_of(aval).zeros(aval), AbstractRef(aval, memory_space, kind))


def _check_place(what: str, memory_space: Any, kind: Any, trace: Any) -> None:
    """Check the memory and the kind of a new reference, which are parts of its type.

    Raises:
      TypeError: the memory or the kind has no hash.
      UnsupportedError: outside of programs another memory than the device's is asked for.
    """
    for name, value in (("memory_space", memory_space), ("kind", kind)):
        if value is not None and not isinstance(value, Hashable):
            raise TypeError(f"{what}: {name} must be hashable, got {value!r}")
    if memory_space is not None and not trace.tracing and getattr(memory_space, "name", "") != "Device":
        raise core.UnsupportedError(
            f"{what}: memory_space must be None or Space.Device outside of programs, where contents are arrays of a "
            f"device, got {memory_space!r}"
        )


def _cell(value: Any, aval: AbstractRef) -> Ref:
    trace = thread.trace
    value = value if isinstance(value, Array | Tracer) else array_of(value, aval.inner_aval)
    if get_aval(value) != aval.inner_aval:
        value = core.protocol_of(aval.inner_aval).convert(value, aval.inner_aval)
    return Ref(value, aval, trace if trace.tracing else None)


def contents(ref: Any, owner: Any) -> Any:
    """All contents of a reference."""
    if owner is not None:
        return _in(owner, get_p, [ref], {"indices": WHOLE})
    if ref._why:
        raise _no_longer(ref, ref._why)
    ref._shared = True
    return ref._value


def replace(ref: Any, owner: Any, value: Any, what: str = "swap") -> None:
    """Replace all contents of a reference.

    Raises:
      ValueError: the value belongs to a transformation, and the reference was made outside of it.
    """
    if _is_inside(value, owner if owner is not None else ref._trace):
        inside = value._trace.transformation
        raise ValueError(
            f"{what}: a value inside {inside} must not be written to a reference of type {ref.aval.str_short()} that "
            f"was made outside of it; pass the reference to the function as an argument, or make it inside"
        )
    if owner is not None:
        _in(owner, swap_p, [ref, value], {"indices": WHOLE})
    else:
        ref._value = value
        ref._shared = True


def _in(trace: Any, primitive: Any, args: list[Any], params: dict[str, Any]) -> Any:
    """Bind a primitive under a trace."""
    with core.set_current_trace(trace):
        return trace.process(primitive, args, params)


def _place(what: str, ref: Any, index: Any) -> tuple[Any, Indices, list[Any]]:
    """A reference, and the indices of elements of it."""
    if type(ref) is View:
        indices, operands = split((*ref._indices, index))
        return ref._ref, indices, operands
    if not is_ref(ref):
        raise TypeError(f"{what}: ref must be a reference, as px.new_ref makes it, got {ref!r}")
    indices, operands = split((index,))
    return ref, indices, operands


def get(ref: Any, index: Any = ...) -> Any:
    """Elements of a reference; see `primax.ref.get`."""
    ref, indices, operands = _place("get", ref, index)
    owner = owner_of(ref)
    if owner is None:
        return take(contents(ref, None), indices, operands)
    if owner is thread.trace:
        return owner.process(get_p, [ref, *operands], {"indices": indices})
    if any(_is_inside(x, owner) for x in operands):
        return take(contents(ref, owner), indices, operands)
    return _in(owner, get_p, [ref, *operands], {"indices": indices})


def _require_fit(what: str, inner: Any, have: Any) -> None:
    """Raise an error for a value of a type whose dtype does not convert to that of a reference.

    Raises:
      TypeError: it does not convert without loss, or the value is a reference.
    """
    if have.mutable:
        raise TypeError(f"{what}: value must be an array, got a reference; read it by ref[...]")
    if have.dtype == inner.dtype or _converts(have, inner.dtype):
        return
    raise TypeError(
        f"{what}: value must be of dtype {inner.dtype}, as the reference, or convert to it without loss, got "
        f"{have.dtype}; write value.astype({str(inner.dtype)!r})"
    )


def _converts(have: Any, dtype: Any) -> bool:
    """Whether values of a type convert to a dtype without loss; Python numbers to one of their kind or a wider kind."""
    if not (isinstance(have.dtype, np.dtype) and isinstance(dtype, np.dtype)):
        return False
    if have.weak_type:
        return _kind(have.dtype) <= _kind(dtype)
    try:
        return bool(dtypes.promote_types(dtype, have.dtype) == dtype)
    except TypeError:  # they do not promote
        return False


def _kind(dtype: Any) -> int:
    """0 for booleans, 1 for integers, 2 for floating numbers, 3 for complex ones."""
    return (dtype != np.bool_) + dtypes.is_inexact(dtype) + dtypes.is_complex(dtype)


def _fitted(what: str, ref: Any, indices: Indices, operands: Sequence[Any], value: Any) -> Any:
    """A value with the shape and the dtype of the elements that it replaces.

    Raises:
      TypeError: it is not an array, or the reference's dtype cannot hold it.
      ValueError: its shape does not fit.
    """
    inner = type_of_elements(ref.aval.inner_aval, indices, operands)
    have = get_aval(value)
    _require_fit(what, inner, have)
    if type(value) is Array and have == inner:
        return value
    return match_placement(_shaped(what, inner, have, value), inner)


def _shaped(what: str, inner: Any, have: Any, value: Any) -> Any:
    """A value with the dtype and the shape of a type."""
    value = value if isinstance(value, Array | Tracer) else array_of(value, get_aval(value))
    if have.dtype != inner.dtype or have.weak_type:
        value = core.protocol_of(have).convert(value, have.update(dtype=inner.dtype, weak_type=False))
    if have.shape == inner.shape:
        return value
    if len(have.shape) > len(inner.shape) or any(
        m not in (1, n) for m, n in zip(reversed(have.shape), reversed(inner.shape), strict=False)
    ):
        raise ValueError(
            f"{what}: value must have the shape of the elements, {inner.shape}, or broadcast to it, got {have.shape}"
        )
    return broadcast_in_dim(value, inner.shape, range(len(inner.shape) - len(have.shape), len(inner.shape)))


def swap(ref: Any, index: Any, value: Any, what: str = "swap") -> Any:
    """Replace elements of a reference, and return the earlier ones; see `primax.ref.swap`."""
    return _update(what, ref, index, value, True, False)


def set(ref: Any, index: Any, value: Any) -> None:
    """Replace elements of a reference; see `primax.ref.set`."""
    _update("set", ref, index, value, False, False)


def addupdate(ref: Any, index: Any, value: Any) -> None:
    """Add to elements of a reference; see `primax.ref.addupdate`."""
    _update("addupdate", ref, index, value, False, True)


def _update(what: str, ref: Any, index: Any, value: Any, wants_old: bool, add: bool) -> Any:
    ref, indices, operands = _place(what, ref, index)
    if isinstance(value, core.ShapeDtypeStruct):
        raise TypeError(f"{what}: value must be an array or a number, got {value!r}")
    owner = owner_of(ref)
    if owner is None and indices.levels:  # the update converts and broadcasts
        _require_fit(what, ref.aval.inner_aval, get_aval(value))
    else:
        value = _fitted(what, ref, indices, operands, value)
    if owner is not None and (owner is thread.trace or not any(_is_inside(x, owner) for x in (value, *operands))):
        primitive = addupdate_p if add else swap_p
        out = _in(owner, primitive, [ref, value, *operands], {"indices": indices})
        return out if wants_old else None
    before = contents(ref, owner)
    old = take(before, indices, operands) if wants_old else None
    try:
        new = put(before, indices, operands, value, add)
    except ValueError:  # perhaps of a shape, which the message below names as that of the reference's elements
        new = None
    if new is None:
        new = put(before, indices, operands, _fitted(what, ref, indices, operands, value), add)
    replace(ref, owner, new, what)
    return old


def freeze(ref: Any) -> Any:
    """The contents of a reference, which ends; see `primax.freeze`."""
    return _end("freeze", freeze_p, ref)


def free_ref(ref: Any) -> None:
    """End a reference; see `primax.free_ref`."""
    _end("free_ref", free_p, ref)


def _end(what: str, primitive: Any, ref: Any) -> Any:
    if not is_ref(ref):
        raise TypeError(f"{what}: ref must be a reference, as px.new_ref makes it, got {ref!r}")
    owner = owner_of(ref)
    if owner is None:
        value = contents(ref, None)
        if ref._trace is not (thread.trace if thread.trace.tracing else None):
            raise ValueError(f"{what}: a reference must be ended where it was made, not inside a transformation")
        ref._value, ref._why = None, what
        return value
    if type(ref) is Ref or ref._trace is not thread.trace:
        raise ValueError(f"{what}: a reference must be ended where it was made, not inside a transformation")
    out = _in(owner, primitive, [ref], {})
    _ended[ref._var] = what
    return out


AbstractRef.operations = sys.modules[__name__]
