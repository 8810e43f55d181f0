"""Elementwise functions with NumPy's methods: reduce, accumulate, reduceat, outer and at."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axes, canonical_axis, check_function, name_of, read_size
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.at import Reference
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.formulas import logaddexp as _logaddexp
from primax.numpy.formulas import logaddexp2 as _logaddexp2
from primax.numpy.indexing import take_slice
from primax.numpy.joining import concatenate
from primax.numpy.mapping import vectorize
from primax.numpy.predicates import logical_and as _logical_and
from primax.numpy.predicates import logical_or as _logical_or
from primax.numpy.predicates import logical_xor as _logical_xor
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, known_integers, strong
from primax.numpy.ranges import arange
from primax.numpy.reductions import FLOAT32, prod, read_where, refuse_out
from primax.numpy.reductions import all as all_
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import min as min_
from primax.numpy.reductions import sum as sum_
from primax.numpy.scans import cumprod, cumsum
from primax.numpy.selection import choose
from primax.numpy.shaping import moveaxis, ravel, reshaped
from primax.numpy.ufuncs import add as _add
from primax.numpy.ufuncs import bitwise_and as _bitwise_and
from primax.numpy.ufuncs import bitwise_or as _bitwise_or
from primax.numpy.ufuncs import bitwise_xor as _bitwise_xor
from primax.numpy.ufuncs import maximum as _maximum
from primax.numpy.ufuncs import minimum as _minimum
from primax.numpy.ufuncs import multiply as _multiply
from primax.numpy.ufuncs import negative as _negative
from primax.numpy.ufuncs import subtract as _subtract
from primax.plugins.calls import eval_shape
from primax.plugins.control_flow import scan

__all__ = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "frompyfunc",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "subtract",
    "ufunc",
]

Function = Callable[..., Any]

_MOST_SLICES = 32  # of a program that reduces each of them


if TYPE_CHECKING:
    Base = partial[Array]
else:
    Base = partial


class ufunc(Base):
    """An elementwise function of arrays, with NumPy's ufunc methods.

    The base class `partial`, without bound arguments, makes a call as fast as a call of the function.

    Attributes:
      nin: the number of arguments.
      nout: the number of results.
      nargs: the number of arguments, `nin`: there is no argument `out`.
      identity: the identity element of the function; None if it has none.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.add.reduce(pnp.arange(6).reshape(2, 3), axis=1), pnp.add.accumulate(pnp.arange(4))
      (Array([ 3, 12], dtype=int32), Array([0, 1, 3, 6], dtype=int32))
      >>> pnp.multiply.outer(pnp.arange(2), pnp.arange(3))
      Array([[0, 0, 0],
             [0, 1, 2]], dtype=int32)
      >>> pnp.maximum.identity, pnp.add.nin
      (None, 2)
    """

    __name__: str
    nin = property(lambda self: self._arity[0])
    nout = property(lambda self: self._arity[1])
    nargs = property(lambda self: self._arity[2])
    identity = property(lambda self: self._identity)
    _arity: tuple[int, int, int]
    _identity: Any
    _reduce: Function | None
    _accumulate: Function | None
    _at: str | Function | None
    _reduceat: Function | None
    _maker: partial[Any]

    if TYPE_CHECKING:

        def __call__(self, x: ArrayLike, /, *args: ArrayLike, out: None = None, where: None = None) -> Array: ...

    def __new__(
        cls,
        func: Function,
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Function | None = None,
        reduce: Function | None = None,
        accumulate: Function | None = None,
        at: str | Function | None = None,
        reduceat: Function | None = None,
    ) -> ufunc:
        """Create a ufunc from a function of arrays.

        Args:
          func: an elementwise function of arrays.
          nin: the number of arguments.
          nout: the number of results.
          name: the name of the ufunc; by default that of `func`.
          nargs: the attribute `nargs`; `nin` if None.
          identity: the identity element.
          call: a faster function with the results of `func`.
          reduce: a faster function with the results of the default `reduce`; called with all of its arguments.
          accumulate: a faster function with the results of the default `accumulate`.
          at: a faster function with the results of the default `at`, called with the array, the indices and, if there
            is one, the second argument; or the name of a method of `x.at[...]`.
          reduceat: a faster function with the results of the default `reduceat`.

        Raises:
          TypeError: `func`, `reduce`, `accumulate`, `at` or `reduceat` is not callable, `nin` or `nout` is not an
            integer, or `name` is not a str.
          ValueError: `nin` or `nout` is negative.
        """
        check_function("ufunc", "func", func)
        for what, count in (("nin", nin), ("nout", nout), ("nargs", nin if nargs is None else nargs)):
            read_size("ufunc", what, count)
        methods: dict[str, Any] = {
            "call": call,
            "reduce": reduce,
            "accumulate": accumulate,
            "at": at,
            "reduceat": reduceat,
        }
        for what, method in methods.items():
            if method is not None and not (what == "at" and isinstance(method, str)):
                check_function("ufunc", what, method)
        if not isinstance(name, str | None):
            raise TypeError(f"ufunc: name must be a str or None, got {name!r}")
        self = super().__new__(cls, func if call is None else call)
        self.__name__ = func.__name__ if name is None else name
        self.__doc__ = func.__doc__
        self._arity, self._identity = (nin, nout, nin if nargs is None else nargs), identity
        self._reduce, self._accumulate, self._at, self._reduceat = reduce, accumulate, at, reduceat
        self._maker = partial(cls, func, nin, nout, name=name, nargs=nargs, identity=identity, **methods)
        return self

    def __reduce__(self) -> tuple[Any, Any]:
        return self.__name__ if globals().get(self.__name__) is self else (self._maker, ())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ufunc) and self._made_by() == other._made_by())

    def __hash__(self) -> int:
        return hash(self._made_by()[:2])

    def _made_by(self) -> tuple[Any, ...]:
        return self._maker.func, self._maker.args, self._maker.keywords

    def __copy__(self) -> ufunc:
        return self

    def __deepcopy__(self, memo: Any) -> ufunc:
        return self

    def __repr__(self) -> str:
        return f"<primax.numpy.ufunc {self.__name__!r}>"

    def reduce(
        self,
        a: Any,
        axis: int | tuple[int, ...] | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        """Combine all elements along an axis, from left to right.

        Args:
          a: an array.
          axis: the axis; None for all elements; or a tuple of axes, with at most one axis if the function has no
            identity, since the order of several axes matters.
          dtype: the dtype of the result; that of the function's result if None.
          out: None.
          keepdims: whether the axes stay, with length 1.
          initial: a value to combine with the first element.
          where: a boolean array that broadcasts with `a`; elements where it is false are ignored.

        Raises:
          ValueError: the function does not have two arguments and one result, `axis` is out of range, there may be no
            elements, without an identity or `initial`; or `axis` has several axes and there is no identity.
        """
        self._check_binary("reduce", out)
        if self._reduce is not None:
            return self._reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        return self._reduced(a, axis, dtype, keepdims, initial, where)

    @one_program("self axis dtype keepdims")
    def _reduced(self, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
        shape = aval_of(f"{self.__name__}.reduce", a, "a").shape
        if where is not None:
            where = broadcast_to_shape(read_where(f"{self.__name__}.reduce", where, shape), shape)
        if isinstance(axis, tuple) and len(axis) > 1 and self.identity is None:
            raise ValueError(
                f"{self.__name__}.reduce: axis must be one axis, since the order of several matters, got {axis}"
            )
        rows, axes = self._rows("reduce", a, axis)
        dtype = self._result_dtype(rows, dtype)
        if initial is None and self._lacks_identity(dtype):
            return cast(self.reduce(cast(a, FLOAT32), axis, keepdims=keepdims, where=where), dtype)
        if dtypes.is_inexact(dtype) and not dtypes.is_inexact(get_aval(rows).dtype):
            rows = cast(rows, dtype)
        count, *rest = get_aval(rows).shape
        kept = self._rows("reduce", where, axis)[0] if where is not None else None
        start = self.identity if initial is None else initial
        if start is None:
            if not count or where is not None:
                raise ValueError(
                    f"{self.__name__}.reduce: initial must be given for a function without an identity if there may be "
                    f"no elements, got an array of shape {shape}"
                )
            start = reshaped(take_slice(rows, 0, 1, 0), tuple(rest))
            rows = take_slice(rows, 1, count, 0)

        def step(total: Any, x: Any) -> tuple[Any, Any]:
            row, keep = x
            combined = cast(self(total, row), dtype)
            return combined if keep is None else choose(keep, combined, total), None

        first = broadcast_to_shape(strong(cast(asarray(start), dtype)), tuple(rest))
        total, _ = scan(step, first, (rows, kept))
        if not keepdims:
            return total
        return reshaped(total, tuple([1 if i in axes else size for i, size in enumerate(shape)]))

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Combine elements cumulatively along an axis.

        Args:
          a: an array.
          axis: the axis; None to ravel the array first.
          dtype: the dtype of the result; that of the function's result if None.
          out: None.

        Raises:
          ValueError: the function does not have two arguments and one result, or `axis` is out of range.
        """
        self._check_binary("accumulate", out)
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        return self._accumulated(a, axis, dtype, not thread.trace.tracing)

    @one_program("self axis dtype eager")
    def _accumulated(self, a: Any, axis: Any, dtype: Any, eager: bool) -> Array:
        if axis is not None:
            name = f"{self.__name__}.accumulate"
            axis = canonical_axis(axis, len(aval_of(name, a, "a").shape), name)
        rows, _ = self._rows("accumulate", a, axis)
        dtype = self._result_dtype(rows, dtype)
        rows = strong(cast(rows, dtype))
        count = get_aval(rows).shape[0]
        if not count:
            return moveaxis(rows, 0, 0 if axis is None else axis)
        first = take_slice(rows, 0, 1, 0)
        start = reshaped(first, get_aval(rows).shape[1:])

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            total = cast(self(total, row), dtype)
            return total, total

        def step_or_first(total: Any, x: Any) -> tuple[Any, Any]:
            position, row = x
            total = choose(position == 0, row, step(total, row)[0])
            return total, total

        if eager:  # no copy without the first row; its result with itself is not used, so it may be NaN
            _, totals = scan(step_or_first, start, (arange(count), rows))
        else:
            _, others = scan(step, start, take_slice(rows, 1, count, 0))
            totals = concatenate((first, others))
        return moveaxis(totals, 0, 0 if axis is None else axis)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Reduce slices of an array along an axis.

        Args:
          a: an array.
          indices: the starts of slices, not traced. A slice ends where the next one starts; if that is not after its
            own start, it has one element.
          axis: the axis.
          dtype: the dtype of the result.
          out: None.

        Raises:
          ValueError: the function does not have two arguments and one result, a position or `axis` is out of range, or
            `indices` is not of rank 1.
          TypeError: `indices` is traced.
        """
        self._check_binary("reduceat", out)
        if self._reduceat is not None:
            return self._reduceat(a, indices, axis=axis, dtype=dtype)
        shape = aval_of(f"{self.__name__}.reduceat", a, "a").shape
        axis = canonical_axis(axis, len(shape), f"{self.__name__}.reduceat")
        if np.ndim(indices) != 1:
            raise ValueError(f"{self.__name__}.reduceat: indices must be of rank 1, got shape {np.shape(indices)}")
        starts = known_integers(f"{self.__name__}.reduceat", "indices", indices)
        if not starts:
            return cast(take_slice(asarray(a), 0, 0, axis), self._result_dtype(a, dtype))
        for start in starts:
            if not 0 <= start < shape[axis]:
                raise ValueError(
                    f"{self.__name__}.reduceat: indices must be in [0, {shape[axis]}), got {start} for shape {shape}"
                )
        if len(starts) > _MOST_SLICES:
            return self._slices_reduced(a, tuple(starts), axis, dtype)
        return self._slices_in_one_program(a, tuple(starts), axis, dtype)

    def _slices_reduced(self, a: Any, starts: tuple[int, ...], axis: int, dtype: Any) -> Array:
        parts = []
        for start, stop in zip(starts, (*starts[1:], get_aval(a).shape[axis]), strict=True):
            part = take_slice(asarray(a), start, max(stop, start + 1), axis)
            reduced = self.reduce(part, axis, dtype, keepdims=True)
            # One element stays as it is, even where a step from the identity would change it.
            parts.append(reduced if stop > start + 1 else cast(part, get_aval(reduced).dtype))
        return concatenate(parts, axis)

    _slices_in_one_program = one_program("self starts axis dtype")(_slices_reduced)

    def outer(self, A: Any, B: Any, /) -> Array:
        """Apply the function to all pairs of elements.

        Args:
          A, B: arrays; the axes of the result are those of A, then those of B.
        """
        self._check_binary("outer", None, any_results=True)
        shape, other = aval_of(f"{self.__name__}.outer", A, 0).shape, aval_of(f"{self.__name__}.outer", B, 1).shape
        return self(reshaped(A, (*shape, *[1] * len(other))), reshaped(B, (*[1] * len(shape), *other)))

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Array:
        """Apply the function to elements of an array, one after another, and return the changed array.

        Args:
          a: an array.
          indices: an index as in `a[indices]`; an element may occur several times.
          b: the second argument, if the function has two.
          inplace: False, since arrays are immutable.

        Raises:
          NotImplementedError: `inplace` is not False.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at: inplace must be False, since arrays are immutable: use the returned array"
            )
        a = asarray(a)
        if callable(self._at):
            return self._at(a, indices) if b is None else self._at(a, indices, b)
        if self._at is not None:
            return getattr(Reference(a, indices), self._at)(b)
        aval = get_aval(a)
        places = Reference(reshaped(arange(aval.size), aval.shape), indices).get()
        others = None if b is None else ravel(broadcast_to_shape(asarray(b), get_aval(places).shape))
        return self._changed(a, places, others)

    @one_program("self")
    def _changed(self, a: Any, places: Any, others: Any) -> Array:
        aval = get_aval(a)

        def step(flat: Any, x: Any) -> tuple[Any, Any]:
            place, other = x
            element = Reference(flat, place)
            changed = self(element.get()) if other is None else self(element.get(), other)
            return element.set(cast(changed, aval.dtype)), None

        flat, _ = scan(step, ravel(a), (ravel(places), others))
        return reshaped(flat, aval.shape)

    def _check_binary(self, method: str, out: Any, any_results: bool = False) -> None:
        if out is not None:
            refuse_out(f"{self.__name__}.{method}")
        if self.nin != 2 or (self.nout != 1 and not any_results):
            raise ValueError(
                f"{self.__name__}.{method}: the function must have two arguments and one result, "
                f"got {self.nin} and {self.nout}"
            )

    def _rows(self, method: str, a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
        """The array with the axis in front, and the axes that this axis stands for. Several axes become one."""
        shape = get_aval(a).shape
        if axis is None:
            return ravel(a), tuple(range(len(shape)))
        if isinstance(axis, tuple):
            axes = canonical_axes(axis, len(shape), f"{self.__name__}.{method}")
            rest = [size for i, size in enumerate(shape) if i not in axes]
            count = math.prod(shape[i] for i in axes)
            return reshaped(moveaxis(a, axes, range(len(axes))), (count, *rest)), axes
        axis = canonical_axis(axis, len(shape), f"{self.__name__}.{method}")
        return moveaxis(a, axis, 0), (axis,)

    def _lacks_identity(self, dtype: Any) -> bool:
        """Whether the identity is an infinity that the floating dtype lacks."""
        infinite = isinstance(self.identity, float) and np.isinf(self.identity)
        return bool(infinite) and dtypes.is_floating(dtype) and not dtypes.supports_inf(dtype)

    def _result_dtype(self, rows: Any, dtype: Any) -> np.dtype[Any]:
        if dtype is not None:
            return read_dtype(dtype, self.__name__)
        element = np.zeros((), get_aval(rows).dtype)
        return eval_shape(self, element, element).dtype


def frompyfunc(func: Function, /, nin: int, nout: int, *, identity: object = None) -> ufunc:
    """Create a ufunc from a function of scalars.

    Args:
      func: a function that takes and returns arrays of rank 0.
      nin: the number of its arguments.
      nout: the number of its results.
      identity: the identity element.

    >>> import primax as px
    >>> px.numpy.frompyfunc(lambda x, y: x + 2 * y, 2, 1).reduce(px.numpy.arange(4))
    Array(12, dtype=int32)
    """
    result: ufunc = ufunc(vectorize(func), nin, nout, name=name_of(func, "ufunc"), identity=identity)
    result._maker = partial(frompyfunc, func, nin, nout, identity=identity)  # which knows how to pickle `func`
    return result


def _without_start(reduce: Function, combine: Function) -> Function:
    """The reduction of a ufunc by a function that takes neither a dtype nor an initial value."""

    def reduced(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
        out = reduce(a, axis=axis, keepdims=keepdims, where=where)
        out = out if initial is None else combine(initial, out)
        return out if dtype is None else cast(out, read_dtype(dtype, "reduce"))

    return reduced


def _extremum(reduce: Function) -> Function:
    def reduced(a: Any, *, dtype: Any, **options: Any) -> Array:
        out = reduce(a, **options)
        return out if dtype is None else cast(out, read_dtype(dtype, "reduce"))

    return reduced


add = ufunc(_add, 2, 1, identity=0, reduce=sum_, accumulate=cumsum, at="add")
multiply = ufunc(_multiply, 2, 1, identity=1, reduce=prod, accumulate=cumprod, at="multiply")
maximum = ufunc(_maximum, 2, 1, reduce=_extremum(max_), at="max")
minimum = ufunc(_minimum, 2, 1, reduce=_extremum(min_), at="min")
subtract = ufunc(_subtract, 2, 1)
negative = ufunc(_negative, 1, 1)
bitwise_and = ufunc(_bitwise_and, 2, 1, identity=-1)
bitwise_or = ufunc(_bitwise_or, 2, 1, identity=0)
bitwise_xor = ufunc(_bitwise_xor, 2, 1, identity=0)
logical_and = ufunc(_logical_and, 2, 1, identity=True, reduce=_without_start(all_, _logical_and))
logical_or = ufunc(_logical_or, 2, 1, identity=False, reduce=_without_start(any_, _logical_or))
logical_xor = ufunc(_logical_xor, 2, 1, identity=False)
logaddexp = ufunc(_logaddexp, 2, 1, identity=-np.inf)
logaddexp2 = ufunc(_logaddexp2, 2, 1, identity=-np.inf)
