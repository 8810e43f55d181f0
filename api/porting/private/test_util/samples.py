"""The generators of random test data of `jax._src.test_util`: functions of a shape and a dtype."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primax import dtypes
from primax.core.config import config

__all__ = [
    "NUMPY_SCALAR_SHAPE",
    "PYTHON_SCALAR_SHAPE",
    "ScalarShape",
    "dtype_str",
    "format_shape_dtype_string",
    "is_valid_shape",
    "rand_bool",
    "rand_default",
    "rand_fullrange",
    "rand_indices_unique_along_axis",
    "rand_int",
    "rand_nonzero",
    "rand_not_small",
    "rand_positive",
    "rand_small",
    "rand_small_positive",
    "rand_some_equal",
    "rand_some_inf",
    "rand_some_inf_and_nan",
    "rand_some_nan",
    "rand_some_zero",
    "rand_uniform",
    "rand_unique_int",
]

Generator = Callable[..., Any]
Random = Any  # a numpy.random.RandomState, whose stream of numbers never changes


class ScalarShape:
    """The shape of a scalar that is not an array."""

    def __len__(self) -> int:
        return 0

    def __getitem__(self, i: Any) -> Any:
        raise IndexError(f"a scalar has no axes, got axis {i}")


class _NumpyScalar(ScalarShape):
    pass


class _PythonScalar(ScalarShape):
    pass


NUMPY_SCALAR_SHAPE = _NumpyScalar()
PYTHON_SCALAR_SHAPE = _PythonScalar()


def is_valid_shape(shape: Any, dtype: Any) -> bool:
    """Whether there are values of a shape and a dtype: Python's scalars have only a few dtypes."""
    return shape is not PYTHON_SCALAR_SHAPE or np.dtype(dtype) == np.dtype(type(np.zeros((), dtype).item()))


def _dims_of_shape(shape: Any) -> Any:
    """The sizes of axes; a number is the size of one axis."""
    if isinstance(shape, ScalarShape):
        return ()
    return shape if isinstance(shape, list | tuple) else (shape,)


def _cast_to_shape(value: Any, shape: Any, dtype: Any) -> Any:
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value)
    if shape is PYTHON_SCALAR_SHAPE:
        return np.asarray(value).item()
    assert np.shape(value) == tuple(_dims_of_shape(shape)), f"{np.shape(value)} is not {shape}"
    return value


def dtype_str(dtype: Any) -> str:
    """The name of a dtype."""
    return str(np.dtype(dtype).name)


def format_shape_dtype_string(shape: Any, dtype: Any) -> str:
    """The name of a shape and a dtype, such as `float32[2,3]`."""
    if shape is NUMPY_SCALAR_SHAPE:
        return dtype_str(dtype)
    if shape is PYTHON_SCALAR_SHAPE:
        return f"py{dtype_str(dtype)}"
    if isinstance(shape, np.ndarray):
        return f"{dtype_str(dtype)}[{shape}]"
    if isinstance(shape, int):
        return f"{dtype_str(dtype)}[{shape},]"
    return f"{dtype_str(dtype)}[{','.join(map(str, shape))}]"


def _random(
    draw: Callable[..., Any], shape: Any, dtype: Any, scale: float = 1.0, post: Callable[[Any], Any] = lambda x: x
) -> Any:
    """Scaled numbers of `draw` in a dtype: absolute values if it is unsigned, two draws if it is complex."""
    dims = _dims_of_shape(shape)

    def part() -> Any:
        numbers = draw(*dims)
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            numbers = abs(numbers)
        return np.asarray(scale * numbers).astype(dtype)

    values = part() + 1j * part() if dtypes.issubdtype(dtype, np.complexfloating) else part()
    return _cast_to_shape(np.asarray(post(values), dtype), shape, dtype)


def rand_default(rng: Random, scale: float = 3) -> Generator:
    """Normal numbers with a standard deviation of 3."""
    return functools.partial(_random, rng.randn, scale=scale)


def rand_small(rng: Random) -> Generator:
    """Normal numbers with a standard deviation of 0.001."""
    return functools.partial(_random, rng.randn, scale=1e-3)


def rand_nonzero(rng: Random) -> Generator:
    """Normal numbers, with 1 in place of 0."""
    return functools.partial(_random, rng.randn, scale=3, post=lambda x: np.where(x == 0, np.ones((), x.dtype), x))


def rand_not_small(rng: Random, offset: float = 10.0) -> Generator:
    """Normal numbers, moved by `offset` away from zero."""
    return functools.partial(_random, rng.randn, scale=3.0, post=lambda x: x + np.where(x > 0, offset, -offset))


def rand_positive(rng: Random) -> Generator:
    """Numbers from 1 to 3."""
    return functools.partial(_random, rng.rand, scale=2, post=lambda x: x + 1)


def rand_small_positive(rng: Random) -> Generator:
    """Numbers from 0 to 2e-5."""
    return functools.partial(_random, rng.rand, scale=2e-5)


def rand_uniform(rng: Random, low: float = 0.0, high: float = 1.0) -> Generator:
    """Numbers from `low` to `high`."""
    assert low < high, f"low must be below high, got {low} and {high}"
    return functools.partial(_random, rng.rand, post=lambda x: x * (high - low) + low)


def rand_some_equal(rng: Random) -> Generator:
    """Normal numbers, half of which are replaced by the first."""

    def post(x: Any) -> Any:
        return np.where(rng.rand(*np.shape(x)) < 0.5, x.ravel()[0], x) if x.size else x

    return functools.partial(_random, rng.randn, scale=100.0, post=post)


def _replaced(rng: Random, draws: list[list[tuple[float, float]]], both_parts: bool) -> Generator:
    """Normal numbers in which some values take the places of a share of the floats.

    Args:
      rng: the source of random numbers.
      draws: for each draw of places, pairs of a value and a share; later ones take places from earlier ones.
      both_parts: whether both parts of complex numbers are replaced; if not, complex numbers are left.
    """
    base = rand_default(rng)

    def generate(shape: Any, dtype: Any) -> Any:
        if both_parts and dtypes.issubdtype(dtype, np.complexfloating):
            real = np.zeros((), dtype).real.dtype
            return _cast_to_shape(generate(shape, real) + np.array(1j, dtype) * generate(shape, real), shape, dtype)
        if not dtypes.issubdtype(dtype, np.floating):
            return base(shape, dtype)
        places = [(pairs, rng.rand(*_dims_of_shape(shape))) for pairs in draws]
        values = base(shape, dtype)
        for pairs, place in places:
            for value, share in pairs:
                values = np.where(place < share, np.array(value, dtype), values)
        return _cast_to_shape(np.asarray(values, dtype), shape, dtype)

    return generate


def rand_some_inf(rng: Random) -> Generator:
    """Normal numbers; a fifth of floats is infinite."""
    return _replaced(rng, [[(np.inf, 0.1)], [(-np.inf, 0.1)]], both_parts=False)


def rand_some_nan(rng: Random) -> Generator:
    """Normal numbers; a tenth of floats is NaN, half of it with the sign bit."""
    return _replaced(rng, [[(np.nan, 0.1), (-np.nan, 0.05)]], both_parts=True)


def rand_some_inf_and_nan(rng: Random) -> Generator:
    """Normal numbers; a fifth of floats is infinite, and a tenth NaN."""
    return _replaced(rng, [[(np.inf, 0.1)], [(-np.inf, 0.1)], [(np.nan, 0.1)]], both_parts=False)


def rand_some_zero(rng: Random) -> Generator:
    """Normal numbers, half of which are zero."""
    base = rand_default(rng)

    def generate(shape: Any, dtype: Any) -> Any:
        zeros = rng.rand(*_dims_of_shape(shape)) < 0.5
        values = np.where(zeros, np.zeros((), dtype), base(shape, dtype))
        return _cast_to_shape(np.asarray(values, dtype), shape, dtype)

    return generate


def rand_int(rng: Random, low: int = 0, high: int | None = None) -> Generator:
    """Integers from `low` to `high - 1`; by default to the largest of the dtype.

    Raises:
      ValueError: the dtype has no integers, and there is no `high`.
    """

    def generate(shape: Any, dtype: Any) -> Any:
        whole = np.issubdtype(dtype, np.integer)
        if low == 0 and high is None and not whole:
            raise ValueError(f"rand_int: high must be an integer for {dtype_str(dtype)}, got None")
        end = np.iinfo(dtype).max if low == 0 and high is None else high
        return rng.randint(low, high=end, size=shape, dtype=dtype if whole else np.int64).astype(dtype)

    return generate


def rand_unique_int(rng: Random, high: int | None = None) -> Generator:
    """Different integers below `high`; by default below their number."""

    def generate(shape: Any, dtype: Any) -> Any:
        return rng.choice(np.arange(high or math.prod(shape), dtype=dtype), size=shape, replace=False)

    return generate


def rand_indices_unique_along_axis(rng: Random) -> Generator:
    """Indices of an axis of length `dim`, different along `axis`; half of them are negative if `allow_negative`."""

    def generate(dim: int, shape: Any, axis: int, allow_negative: bool = True) -> Any:
        others = (*shape[:axis], *shape[axis:][1:])
        rows = [rng.choice(dim, size=shape[axis], replace=False) for _ in range(math.prod(others))]
        indices = np.moveaxis(np.array(rows).reshape(*others, shape[axis]), -1, axis)
        if allow_negative:
            indices[rng.choice([False, True], indices.shape)] -= dim
        return indices

    return generate


def rand_bool(rng: Random) -> Generator:
    """False or True, in a dtype."""

    def generate(shape: Any, dtype: Any) -> Any:
        return _cast_to_shape(np.asarray(rng.rand(*_dims_of_shape(shape)) < 0.5, dtype), shape, dtype)

    return generate


def rand_fullrange(rng: Random, standardize_nans: bool = False) -> Generator:
    """Numbers of random bits; `standardize_nans` gives all NaN one bit pattern."""

    def generate(shape: Any, dtype: Any, post: Callable[[Any], Any] = lambda x: x) -> Any:
        dtype = np.dtype(dtype)
        dims = _dims_of_shape(shape)
        octets = rng.randint(0, np.iinfo(np.uint8).max, size=dtype.itemsize * math.prod(dims), dtype=np.uint8)
        values = post(octets).view(dtype)
        if shape is PYTHON_SCALAR_SHAPE and (dtype == np.uint64 or (dtype == np.uint32 and not config.enable_x64)):
            values = values.astype(np.dtype(f"int{8 * dtype.itemsize}"))  # the weak type of Python's integers is signed
        values = values.reshape(dims)
        if standardize_nans and np.issubdtype(dtype, np.floating):
            values[np.isnan(values)] = np.nan
        return _cast_to_shape(values, shape, dtype)

    return generate
