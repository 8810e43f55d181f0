"""Special matrices: block diagonal, Toeplitz and other named matrices."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, integer, numpy_dtype
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.numpy.conversion import asarray
from primax.numpy.creation import zeros, zeros_like
from primax.numpy.joining import concatenate
from primax.numpy.linalg.operands import inexact
from primax.numpy.padding import pad
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, joint_shape, promote
from primax.numpy.ranges import arange
from primax.numpy.selection import where
from primax.numpy.shaping import atleast_1d, atleast_2d
from primax.numpy.ufuncs import absolute, conjugate

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]


@one_program("")
def block_diag(*arrs: ArrayLike) -> Array:
    """A matrix with given blocks on its diagonal and zeros elsewhere.

    Args:
      arrs: numbers, vectors (as rows) and matrices.

    Raises:
      ValueError: an argument has a rank above 2.

    >>> import primax as px
    >>> px.scipy.linalg.block_diag(px.numpy.ones((1, 2)), 3.0)
    Array([[1., 1., 0.],
           [0., 0., 3.]], dtype=float32)
    """
    blocks = promote("block_diag", *arrs) if arrs else [np.zeros((1, 0), dtypes.python_scalar_dtypes[float])]
    for i, block in enumerate(blocks):
        if len(get_aval(block).shape) > 2:
            raise ValueError(f"block_diag: arrs must have rank 2 at most, got shape {get_aval(block).shape} at {i}")
    blocks = [atleast_2d(block) for block in blocks]
    widths = [get_aval(block).shape[1] for block in blocks]
    rows = [pad(block, [(0, 0), (sum(widths[:i]), sum(widths[i + 1 :]))]) for i, block in enumerate(blocks)]
    return concatenate(rows, axis=0)


def _vectors(function: str, *arrays: Any) -> list[Array]:
    """Convert vectors along the last axes of arrays to one dtype, with leading axes broadcast."""
    arrays = tuple(atleast_1d(asarray(x)) for x in promote(function, *arrays))
    if len(arrays) == 1:
        return list(arrays)
    shapes = [get_aval(x).shape for x in arrays]
    leading = joint_shape([shape[:-1] for shape in shapes])
    if leading is None:
        raise ValueError(f"{function}: leading axes must broadcast, got shapes {' and '.join(map(str, shapes))}")
    return [broadcast_to_shape(x, (*leading, shape[-1])) for x, shape in zip(arrays, shapes, strict=True)]


def _numbers(count: Any) -> Any:
    """The numbers 0, 1, ..., count - 1, of NumPy where the count is known."""
    return arange(count) if is_symbolic((count,)) else np.arange(count)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with constant diagonals.

    Args:
      c: the first columns, of shape (..., m).
      r: the first rows, of shape (..., n), whose first numbers are ignored; the conjugates of `c` if None.

    Returns:
      An array of shape (..., m, n).

    >>> import primax as px
    >>> px.scipy.linalg.toeplitz(px.numpy.array([1, 2, 3]), px.numpy.array([1, 4, 5]))
    Array([[1, 4, 5],
           [2, 1, 4],
           [3, 2, 1]], dtype=int32)
    """
    if r is None:
        (c,) = promote("toeplitz", c)
        r = conjugate(c)
    c, r = _vectors("toeplitz", c, r)
    m, n = get_aval(c).shape[-1], get_aval(r).shape[-1]
    diagonals = concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    return diagonals[..., m - 1 - _numbers(m)[:, None] + _numbers(n)]


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with constant antidiagonals.

    Args:
      c: the first columns, of shape (..., m).
      r: the last rows, of shape (..., n), whose first numbers are ignored; zeros of the shape of `c` if None.

    Returns:
      An array of shape (..., m, n).

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.hankel(pnp.array([1, 2, 3])), px.scipy.linalg.hankel(pnp.array([1, 2]), pnp.array([2, 7, 8]))
      (Array([[1, 2, 3],
             [2, 3, 0],
             [3, 0, 0]], dtype=int32), Array([[1, 2, 7],
             [2, 7, 8]], dtype=int32))
    """
    (c,) = promote("hankel", c)
    if not get_aval(c).shape:
        raise ValueError("hankel: c must have rank 1 or more, got a number")
    c, r = _vectors("hankel", c, zeros_like(c) if r is None else r)
    m, n = get_aval(c).shape[-1], get_aval(r).shape[-1]
    return concatenate([c, r[..., 1:]], axis=-1)[..., _numbers(m)[:, None] + _numbers(n)]


def circulant(c: ArrayLike) -> Array:
    """Circulant matrices: each column is the previous one rolled by one.

    Args:
      c: the first columns, of shape (..., n).

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.circulant(pnp.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    """
    (c,) = _vectors("circulant", c)
    n = get_aval(c).shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]


def companion(a: ArrayLike) -> Array:
    """The companion matrices of polynomials, whose eigenvalues are the roots.

    Args:
      a: the coefficients, the highest first, of shape (..., n), n at least 2.

    Raises:
      ValueError: there are fewer than two coefficients.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.companion(pnp.array([1, -6, 11, -6]))
      Array([[  6., -11.,   6.],
             [  1.,   0.,   0.],
             [  0.,   1.,   0.]], dtype=float32)
    """
    a = asarray(inexact("companion", a)[0])
    n = get_aval(a).shape[-1] if get_aval(a).shape else 0
    if n < 2:
        raise ValueError(f"companion: a must hold two coefficients or more, got shape {get_aval(a).shape}")
    first = -a[..., 1:] / a[..., :1]
    return _below_first_rows(first, np.eye(n - 2, n - 1, dtype=get_aval(a).dtype))


def _below_first_rows(first: Any, rest: Any) -> Array:
    """Matrices with given first rows and common other rows."""
    row = first[..., None, :]
    below = broadcast_to_shape(rest, (*get_aval(first).shape[:-1], *rest.shape))
    return concatenate([row, below], axis=-2)


@one_program("n mode")
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix that convolves a vector of a given length with another vector.

    Args:
      a: vectors, of shape (..., m), m at least 1.
      n: the length of the vectors to convolve with.
      mode: "full", "valid" or "same", as in `convolve`.

    Raises:
      ValueError: `n` is not positive, `a` is empty or of rank 0, or `mode` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> a = px.scipy.linalg.convolution_matrix(pnp.array([1, 10]), 3)
      >>> a @ pnp.array([1, 2, 3]), pnp.convolve(pnp.array([1, 10]), pnp.array([1, 2, 3]))
      (Array([ 1, 12, 23, 30], dtype=int32), Array([ 1., 12., 23., 30.], dtype=float32))
    """
    n = integer("convolution_matrix", "n", n)
    (a,) = promote("convolution_matrix", a)
    shape = get_aval(a).shape
    if n <= 0:
        raise ValueError(f"convolution_matrix: n must be positive, got {n}")
    if not shape or not shape[-1]:
        raise ValueError(f"convolution_matrix: a must hold vectors of one element or more, got shape {shape}")
    if not among(mode, ("full", "valid", "same")):
        raise ValueError(f"convolution_matrix: mode must be 'full', 'valid' or 'same', got {mode!r}")
    m = shape[-1]
    whole = toeplitz(pad(a, [*[(0, 0)] * (len(shape) - 1), (0, n - 1)]), zeros(n, get_aval(a).dtype))
    if mode == "same":
        # As in numpy.convolve: the middle of the full result, of the length of the longer vector.
        first = (min(m, n) - 1) // 2
        return whole[..., first : first + max(m, n), :]
    return whole if mode == "full" else whole[..., min(m, n) - 1 : max(m, n), :]


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The Leslie matrix of an age-structured population.

    Args:
      f: fecundities, of shape (..., n).
      s: rates of survival, of shape (..., n - 1).

    Returns:
      An array of shape (..., n, n).

    Raises:
      ValueError: `s` is not shorter by one than `f`, or is empty.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.leslie(pnp.array([0.0, 2.0, 1.0]), pnp.array([0.5, 0.25]))
      Array([[0.  , 2.  , 1.  ],
             [0.5 , 0.  , 0.  ],
             [0.  , 0.25, 0.  ]], dtype=float32)
    """
    sizes = aval_of("leslie", f, "f").shape, aval_of("leslie", s, "s").shape
    if not all(sizes) or sizes[0][-1] != sizes[1][-1] + 1 or not sizes[1][-1]:
        raise ValueError(f"leslie: f must have one element more than s, got shapes {sizes[0]} and {sizes[1]}")
    f, s = _vectors("leslie", f, s)
    rows = where(np.eye(sizes[1][-1], sizes[0][-1], dtype=bool), s[..., :, None], 0)
    return concatenate([f[..., None, :], rows.astype(get_aval(f).dtype)], axis=-2)


def fiedler(a: ArrayLike) -> Array:
    """The matrix of absolute differences of the elements of a vector.

    Args:
      a: an array of shape (..., n).

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.fiedler(pnp.array([1, 4, 9]))
      Array([[0, 3, 8],
             [3, 0, 5],
             [8, 5, 0]], dtype=int32)
    """
    (a,) = _vectors("fiedler", a)
    return absolute(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrix of a polynomial, which has five diagonals.

    Args:
      a: the coefficients, the highest power first, of shape (..., n + 1); the leading coefficients are not zero.

    Returns:
      An array of shape (..., n, n).

    Raises:
      ValueError: there are no coefficients.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.fiedler_companion(pnp.array([1.0, -6.0, 11.0, -6.0]))
      Array([[  6., -11.,   1.],
             [  1.,   0.,   0.],
             [  0.,   6.,   0.]], dtype=float32)
    """
    a = asarray(inexact("fiedler_companion", a)[0])
    shape = get_aval(a).shape
    if not shape or not shape[-1]:
        raise ValueError(f"fiedler_companion: a must hold one coefficient or more, got shape {shape}")
    n = shape[-1] - 1
    if n < 1:
        return zeros((*shape[:-1], 0, 0), get_aval(a).dtype)
    a = a / a[..., :1]
    if n == 1:
        return -a[..., 1:, None]
    # Rows alternate: an even one has two coefficients beside the diagonal and a one, an odd one has only a one.
    which, ones = np.zeros((n, n), np.int32), np.zeros((n, n))
    which[0, 0] = 1
    ones[1, 0] = 1
    for i in range(0, n, 2):
        if i:
            which[i, i - 1] = i + 1
        if i + 1 < n:
            which[i, i + 1] = i + 2
        if i + 2 < n:
            ones[i, i + 2] = 1
    for i in range(3, n, 2):
        ones[i, i - 2] = 1
    return where(which > 0, -a[..., which], ones.astype(get_aval(a).dtype))


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Sylvester's matrix of ones and minus ones with orthogonal rows.

    Args:
      n: the size, a power of 2.
      dtype: the dtype.

    Raises:
      ValueError: `n` is not a power of 2.

    Examples:
      >>> import primax as px
      >>> h = px.scipy.linalg.hadamard(4)
      >>> h @ h.T
      Array([[4, 0, 0, 0],
             [0, 4, 0, 0],
             [0, 0, 4, 0],
             [0, 0, 0, 4]], dtype=int32)
      >>> px.scipy.linalg.hadamard(3)
      Traceback (most recent call last):
          ...
      ValueError: hadamard: n must be a power of 2, got 3
    """
    n = _size("hadamard", n)
    if n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {n}")
    matrix = np.ones((n, n), np.int8)
    done = 1
    while done < n:
        first, second = slice(0, done), slice(done, 2 * done)
        matrix[first, second] = matrix[second, first] = matrix[first, first]
        matrix[second, second] = -matrix[first, first]
        done *= 2
    return asarray(matrix, dtype)


def helmert(n: int, full: bool = False) -> Array:
    """The orthogonal Helmert matrix; its constant first row is omitted unless `full`.

    Args:
      n: the size, at least 1.
      full: whether to return the first row too.

    Examples:
      >>> import primax as px
      >>> px.scipy.linalg.helmert(3).shape, px.scipy.linalg.helmert(3, full=True).shape
      ((2, 3), (3, 3))
    """
    n = _size("helmert", n)
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    rows[0] = 1
    scale = np.arange(n) * np.arange(1, n + 1)
    scale[0] = n
    return asarray((rows / np.sqrt(scale)[:, None])[0 if full else 1 :], float)


def hilbert(n: int) -> Array:
    """The Hilbert matrix of 1 / (i + j + 1).

    Args:
      n: the size.

    Examples:
      >>> import primax as px
      >>> px.scipy.linalg.hilbert(2)
      Array([[1.        , 0.5       ],
             [0.5       , 0.33333334]], dtype=float32)
    """
    places = np.arange(_size("hilbert", n, 0))
    return asarray(1.0 / (places[:, None] + places + 1), float)


def invhilbert(n: int) -> Array:
    """The inverse of `hilbert(n)`, which has integer elements.

    Args:
      n: the size.

    Examples:
      >>> import primax as px
      >>> px.scipy.linalg.invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    """
    n = _size("invhilbert", n, 0, _LAST_INVHILBERT)
    rows = [
        [
            (-1) ** (i + j) * (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return asarray(np.array(rows, float).reshape(n, n), float)


def _size(function: str, n: Any, least: int = 1, most: int = 2**29) -> int:
    size = integer(function, "n", n)
    if not least <= size <= most:
        raise ValueError(f"{function}: n must be in [{least}, {most}], got {n}")
    return size


# The sizes of the largest matrices whose numbers float64 can hold.
_LAST_INVHILBERT = 203
_LAST_PASCAL = 1030


def _pascal(function: str, n: int, kind: str | None, sign: int) -> Array:
    n = _size(function, n, 0, _LAST_PASCAL)
    if not among(kind, (None, "symmetric", "lower", "upper")):
        raise ValueError(f"{function}: kind must be 'symmetric', 'lower', 'upper' or None, got {kind!r}")
    lower = np.array([[sign ** (i + j) * comb(i, j) for j in range(n)] for i in range(n)], float).reshape(n, n)
    if kind == "lower":
        return asarray(lower, float)
    if kind == "upper":
        return asarray(lower.T, float)
    return asarray(lower @ lower.T if sign > 0 else lower.T @ lower, float)


def pascal(n: int, kind: str | None = None) -> Array:
    """The matrix of binomial coefficients (i + j choose i), or one of its triangular factors.

    Args:
      n: the size.
      kind: "symmetric" or None; "lower" or "upper" for the factors.

    Examples:
      >>> import primax as px
      >>> px.scipy.linalg.pascal(3), px.scipy.linalg.pascal(3, kind="lower")
      (Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32), Array([[1., 0., 0.],
             [1., 1., 0.],
             [1., 2., 1.]], dtype=float32))
    """
    return _pascal("pascal", n, kind, 1)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of `pascal(n, kind)`.

    Args:
      n, kind: see `pascal`.

    Examples:
      >>> import primax as px
      >>> px.scipy.linalg.invpascal(3)
      Array([[ 3., -3.,  1.],
             [-3.,  5., -2.],
             [ 1., -2.,  1.]], dtype=float32)
    """
    return _pascal("invpascal", n, kind, -1)


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Args:
      n: the size.
      scale: "sqrtn" to divide by the square root of `n`, "n" to divide by `n`; None for no division.
      dtype: a complex dtype; the default one if None.

    Raises:
      ValueError: `scale` is unknown, or `dtype` is not complex.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> abs(px.scipy.linalg.dft(4) @ pnp.ones(4)).round(), px.scipy.linalg.dft(4, scale="n").dtype
      (Array([4., 0., 0., 0.], dtype=float32), dtype('complex64'))
    """
    n = _size("dft", n, 0)
    if dtype is not None and numpy_dtype("dft", "dtype", dtype).kind != "c":
        raise ValueError(f"dft: dtype must be complex, got {dtype!r}")
    if not among(scale, (None, "sqrtn", "n")):
        raise ValueError(f"dft: scale must be 'sqrtn', 'n' or None, got {scale!r}")
    places = np.arange(n)
    matrix = np.exp(-2j * np.pi * (np.outer(places, places) % max(n, 1)) / max(n, 1))
    divisor = {None: 1.0, "sqrtn": np.sqrt(n), "n": n}[scale]
    return asarray(matrix / divisor, complex if dtype is None else dtype)
