"""Base classes of sparse arrays, and the checks of their functions' arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import integer, sequence
from primax.interpreters.vmap import vmap

_T = TypeVar("_T", bound="Coordinates")


class SparseEfficiencyError(ValueError):
    """The new layout would store more elements than the old one."""


class SparseEfficiencyWarning(UserWarning):
    """The new layout stores more elements than the old one."""


def refused(operation: str) -> Callable[..., Any]:
    """A method that raises an error, for an operation that a class of sparse arrays lacks."""

    def refuse(self: JAXSparse, *others: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{operation}: {self!r} has no such operation; use .to_bcoo(), or .todense()")

    return refuse


class JAXSparse:
    """The base class of sparse arrays, with attributes and operators of dense arrays.

    Args:
      args: arrays, which the subclass stores.
      shape: the shape.

    Raises:
      TypeError: `shape` is not a sequence of integers.
      ValueError: a size is negative.
    """

    __slots__ = ("shape",)
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy arrays then leave operators to sparse arrays

    shape: tuple[int, ...]

    def __init__(self, args: Any, *, shape: Sequence[int]) -> None:
        self.shape = shape_of(type(self).__name__, "shape", shape)

    def to_bcoo(self) -> Any:
        """The same array as a BCOO array.

        Raises:
          NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__}.to_bcoo: the class must define it")

    def todense(self) -> Array:
        """The dense array."""
        out: Array = self.to_bcoo().todense()
        return out

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len() of {self!r}, which has no dimensions")
        return self.shape[0]

    __add__ = __radd__ = refused("add")
    __sub__ = __rsub__ = refused("subtract")
    __mul__ = __rmul__ = refused("multiply")
    __truediv__ = __rtruediv__ = refused("divide")
    __matmul__ = __rmatmul__ = refused("matmul")
    __pow__ = refused("power")
    __neg__ = refused("negative")
    __pos__ = refused("positive")
    __abs__ = refused("absolute")
    __getitem__ = refused("__getitem__")


class Coordinates(JAXSparse):
    """The parts of a BCOO array; functions of BCOO arrays are written in terms of this class."""

    __slots__ = ("data", "indices", "indices_sorted", "unique_indices")

    data: Any
    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self, args: Any, *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        name = type(self).__name__
        parts = sequence(name, "args", args)
        if len(parts) != 2:
            raise ValueError(f"{name}: args must be (data, indices), got {len(parts)} values")
        self.data, self.indices = (as_array(name, part, x) for part, x in zip(("data", "indices"), parts, strict=True))
        self.shape = shape_of(name, "shape", shape)
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        _check_parts(self)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements, or blocks of the dense dimensions, per element of the batch."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of leading dimensions whose elements have their own indices."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of dimensions that are stored as indices."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of trailing dimensions that are stored whole."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The sizes of the batch dimensions."""
        return self.shape[: self.n_batch]

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse dimensions."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The sizes of the dense dimensions."""
        return self.shape[self.n_batch + self.n_sparse :]

    def remade(self: _T, data: Any, indices: Any = None, shape: Any = None, **flags: bool) -> _T:
        """An array of the same class with other parts; new indices have no flags by default.

        Args:
          data: the elements.
          indices: their indices; those of this array, with their flags, if None.
          shape: the shape; that of this array if None.
          flags: `indices_sorted` and `unique_indices`.
        """
        if indices is None:
            indices = self.indices
            flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices} | flags
        return type(self)((data, indices), shape=self.shape if shape is None else shape, **flags)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        """The arrays as leaves, and the static data."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls: type[_T], aux: tuple[Any, ...], children: Sequence[Any]) -> _T:
        """Rebuild the array; leaves may have more or fewer batch dimensions, as in `vmap` and `scan`."""
        out = object.__new__(cls)
        out.data, out.indices = children
        out.shape, out.indices_sorted, out.unique_indices = aux
        dims = [getattr(x, "ndim", None) for x in children]
        if None not in dims and out.indices.ndim >= 2 and out.data.ndim >= out.indices.ndim - 1:
            out.shape = known_shape(out.shape, out)
        return out


def known_shape(shape: tuple[int, ...], parts: Any) -> tuple[int, ...]:
    """The shape of a sparse array whose parts may have more or fewer batch dimensions than before."""
    n_batch, others = parts.n_batch, parts.n_sparse + parts.n_dense
    if len(shape) == n_batch + others or len(shape) < others:
        return shape
    kept = shape[len(shape) - others :] if others else ()
    known = (1,) * n_batch + shape[: len(shape) - others]
    pairs = zip(parts.data.shape[:n_batch], parts.indices.shape[:n_batch], strict=True)
    batch = [max(pair) if min(pair) else 0 for pair in pairs]
    known = known[len(known) - n_batch :] if n_batch else ()
    return (*(own if size == 1 else size for size, own in zip(batch, known, strict=True)), *kept)


def as_array(function: str, argument: str, value: Any) -> Any:
    """Convert a value to a dense array.

    Raises:
      TypeError: the value is sparse, or not an array of numbers.
    """
    if isinstance(value, JAXSparse):
        raise TypeError(f"{function}: {argument} must be a dense array, got {value!r}; use its .todense()")
    try:
        array = pnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{function}: {argument} must be an array, got {value!r}") from error
    if dtypes.is_extended(array.dtype):
        raise TypeError(f"{function}: {argument} must be an array of numbers, got one of dtype {array.dtype}")
    return array


def is_single(value: Any) -> bool:
    """Whether a value is a number, or an array without dimensions."""
    return isinstance(value, (bool, int, float, complex)) or getattr(value, "ndim", None) == 0


def operand(function: str, argument: str, value: Any) -> Any:
    """Convert a sparse array to a BCOO array, and any other value to a dense array; see `as_array`."""
    if isinstance(value, JAXSparse):
        return value if isinstance(value, Coordinates) else value.to_bcoo()
    return as_array(function, argument, value)


def shape_of(function: str, argument: str, shape: Any) -> tuple[int, ...]:
    """Check a shape from the user.

    Raises:
      TypeError: `shape` is not a sequence of integers.
      ValueError: a size is negative.
    """
    sizes = tuple(integer(function, f"{argument}[{i}]", n) for i, n in enumerate(sequence(function, argument, shape)))
    if any(size < 0 for size in sizes):
        raise ValueError(f"{function}: {argument} must have no negative size, got {sizes}")
    return sizes


def axes_of(function: str, argument: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Check axes from the user; count them from the front.

    Raises:
      TypeError: an axis is not an integer.
      ValueError: an axis is out of range or repeated.
    """
    listed = [axes] if is_single(axes) else sequence(function, argument, axes)
    numbers = [integer(function, f"{argument}[{i}]", axis) for i, axis in enumerate(listed)]
    if any(not -ndim <= axis < ndim for axis in numbers):
        raise ValueError(f"{function}: {argument} must be in range of {ndim} dimensions, got {tuple(numbers)}")
    positive = tuple(axis % ndim for axis in numbers)
    if len(set(positive)) < len(positive):
        raise ValueError(f"{function}: {argument} must name each dimension once, got {tuple(numbers)}")
    return positive


def check_sparse(function: str, argument: str, value: Any) -> None:
    """Raise an error unless a value is a BCOO array.

    Raises:
      TypeError: the value is not a BCOO array.
    """
    if not isinstance(value, Coordinates):
        raise TypeError(f"{function}: {argument} must be a BCOO, got {value!r}; BCOO.fromdense makes one of an array")


def check_index_dtype(function: str, argument: str, dtype: Any, sizes: Sequence[int]) -> None:
    """Check a dtype for indices.

    Raises:
      TypeError: it is not a dtype of integers.
      ValueError: it cannot hold the sizes.
    """
    if not dtypes.is_integer(dtype):
        raise TypeError(f"{function}: {argument} must be integers, got {dtype}")
    if any(size > dtypes.iinfo(dtype).max for size in sizes):
        raise ValueError(f"{function}: {argument} must hold the sparse sizes {tuple(sizes)}, got {dtype}")


def check_none(function: str, argument: str, value: Any) -> None:
    """Refuse an argument that only dense arrays take.

    Raises:
      NotImplementedError: it is not None.
    """
    if value is not None:
        raise NotImplementedError(f"{function}: {argument} must be None, got {value!r}; constrain the dense arrays")


def _check_parts(mat: Coordinates) -> None:
    name, data, indices = type(mat).__name__, mat.data, mat.indices
    check_index_dtype(name, "indices", indices.dtype, ())
    if indices.ndim < 2:
        raise ValueError(f"{name}: indices must have shape (*batch, nse, n_sparse), got {indices.shape}")
    if data.ndim < indices.ndim - 1:
        raise ValueError(
            f"{name}: data must have shape (*batch, nse, *dense), so {indices.ndim - 1} dimensions or more for indices "
            f"of shape {indices.shape}, got {data.shape}"
        )
    n = mat.n_batch
    if mat.ndim != n + mat.n_sparse + mat.n_dense:
        raise ValueError(
            f"{name}: shape must have n_batch + n_sparse + n_dense = {n} + {mat.n_sparse} + {mat.n_dense} dimensions "
            f"for data of shape {data.shape} and indices of shape {indices.shape}, got {mat.shape}"
        )
    if data.shape[n] != mat.nse or data.shape[n + 1 :] != mat.dense_shape:
        data_shape = (*mat.batch_shape, mat.nse, *mat.dense_shape)
        raise ValueError(f"{name}: data must have shape {data_shape} for indices of {indices.shape}, got {data.shape}")
    check_index_dtype(name, "indices", indices.dtype, mat.sparse_shape)
    for part, value in (("data", data), ("indices", indices)):
        if any(size not in (1, own) for size, own in zip(value.shape[:n], mat.batch_shape, strict=True)):
            raise ValueError(
                f"{name}: {part} must have batch dimensions of {mat.batch_shape}, or of 1, got {value.shape[:n]}"
            )


def over_batch(function: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """Map a function of one element of the batch over all batch dimensions."""
    for _ in range(n_batch):
        function = vmap(function)
    return function


def with_full_batch(mat: Coordinates) -> tuple[Any, Any]:
    """The data and indices, broadcast along batch dimensions of size 1 to the batch shape of the array."""
    return _with_batch(mat, mat.batch_shape)


def with_joint_batch(mat: Coordinates) -> tuple[Any, Any]:
    """The data and indices with the same batch dimensions; dimensions of size 1 in both keep that size."""
    n = mat.n_batch
    return _with_batch(mat, pnp.broadcast_shapes(mat.data.shape[:n], mat.indices.shape[:n]))


def _with_batch(mat: Coordinates, batch: tuple[int, ...]) -> tuple[Any, Any]:
    n = mat.n_batch
    return tuple(
        x if x.shape[:n] == batch else pnp.broadcast_to(x, batch + x.shape[n:]) for x in (mat.data, mat.indices)
    )  # type: ignore[return-value]
