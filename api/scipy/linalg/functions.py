"""Functions of square matrices: exponentials, square roots and other functions, and Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, check_function, integer
from primax.extend.provisional.transformations import jvp
from primax.numpy import linalg as numpy_linalg
from primax.numpy.formulas import hypot
from primax.numpy.joining import stack
from primax.numpy.linalg.operands import inexact, require_square, square, stacked
from primax.numpy.predicates import isfinite
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, cast
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import sum as sum_
from primax.numpy.rounding import ceil as ceil_
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, exp2, log2, minimum, sqrt
from primax.plugins.control_flow import cond, fori_loop
from primax.plugins.indexing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from primax.plugins.linalg.matrices import adjoint, as_complex, conj, diagonal, eye, mt, real_dtype
from primax.plugins.structural import stop_gradient
from primax.scipy.linalg.equations import solve_triangular
from primax.scipy.linalg.factorizations import schur

__all__ = ["expm", "expm_frechet", "funm", "rsf2csf", "solve_sylvester", "sqrtm"]

# For each precision, the degree of the approximation, and the norm up to which its error is below rounding.
_PADE = {np.dtype(np.float32): (7, 3.925724783138660), np.dtype(np.float64): (13, 5.371920351148152)}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponentials of square matrices, by a Padé approximation, scaling and squaring.

    N. J. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26
    (2005).

    Args:
      A: matrices of shape (..., n, n).
      upper_triangular: whether the matrices are upper triangular.
      max_squarings: the maximal number of squarings; the result is NaN if more are needed.

    Returns:
      An array of the shape of `A`.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.scipy.linalg.expm(px.numpy.array([[0.0, 1.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return _expm(A, bool(upper_triangular), integer("expm", "max_squarings", max_squarings))


@one_program(static=1, named="expm")
def _expm(A: Any, upper_triangular: bool, max_squarings: int) -> Array:
    A = square("expm", A, "A")
    aval = get_aval(A)
    if not aval.size:
        return A
    degree, bound = _PADE.get(real_dtype(aval.dtype), _PADE[np.dtype(np.float32)])
    norm = stop_gradient(numpy_linalg.norm(A, 1, (-2, -1), True))
    halvings = log2(norm / bound)
    # Rounded up for the accuracy that the approximation promises, down where no more squarings are allowed.
    needed = where(halvings > 0, halvings, 0)
    times = minimum(ceil_(needed), max_squarings)
    small = A * exp2(-times).astype(aval.dtype)
    numerator, denominator = _approximation(small, degree)
    if upper_triangular:
        out = solve_triangular(denominator, numerator)
    else:
        out = numpy_linalg.solve(denominator, numerator)

    def square_again(i: Any, x: Any) -> Array:
        active = i < times
        return cond(any_(active), lambda x: where(active, x @ x, x), lambda x: x, x)

    out = fori_loop(0, max_squarings, square_again, out)
    return where(needed < max_squarings + 1, out, np.nan)


def _approximation(a: Any, degree: int) -> tuple[Any, Any]:
    """The numerator V + U and the denominator V - U of the Padé approximation of the exponential."""
    coefficients = [
        factorial(2 * degree - k) * factorial(degree) / (factorial(2 * degree) * factorial(k) * factorial(degree - k))
        for k in range(degree + 1)
    ]
    ones = eye(get_aval(a).dtype, get_aval(a).shape)
    squared = a @ a
    power, odd, even = ones, coefficients[1] * ones, coefficients[0] * ones
    for k in range(2, degree, 2):
        power = squared if k == 2 else power @ squared
        even = even + coefficients[k] * power
        odd = odd + coefficients[k + 1] * power
    u = a @ odd
    return even + u, even - u


@one_program("method compute_expm", named="expm_frechet")
def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> tuple[Any, Any]:
    """The derivatives of the exponentials of square matrices in given directions.

    Args:
      A: matrices of shape (..., n, n).
      E: the directions, of the same shape.
      method: "SPS", "blockEnlarge" or None; all mean the derivative of `expm`.
      compute_expm: whether to return the exponentials too.

    Returns:
      A pair of the exponentials and the derivatives; only the derivatives if not `compute_expm`.

    Raises:
      ValueError: the matrices are not square, shapes differ, or `method` is unknown.
    """
    if not among(method, (None, "SPS", "blockEnlarge")):
        raise ValueError(f"expm_frechet: method must be 'SPS', 'blockEnlarge' or None, got {method!r}")
    A, E = inexact("expm_frechet", A, E)
    require_square("expm_frechet", get_aval(A).shape, "A")
    if get_aval(A).shape != get_aval(E).shape:
        raise ValueError(f"expm_frechet: A and E must have one shape, got {get_aval(A).shape} and {get_aval(E).shape}")
    value, change = jvp(expm, (A,), (E,))
    return (value, change) if compute_expm else change


@one_program("check_finite", named="rsf2csf")
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Convert real Schur decompositions to complex ones, by rotations of two rows and columns each.

    Args:
      T, Z: the result of `schur` with `output="real"`.
      check_finite: ignored.

    Returns:
      An upper triangular T and a unitary Z.

    Raises:
      ValueError: the matrices are not square, or shapes differ.
    """
    T, Z = inexact("rsf2csf", T, Z)
    for name, x in (("T", T), ("Z", Z)):
        require_square("rsf2csf", get_aval(x).shape, name)
    if get_aval(T).shape != get_aval(Z).shape:
        raise ValueError(f"rsf2csf: T and Z must have one shape, got {get_aval(T).shape} and {get_aval(Z).shape}")
    if get_aval(T).shape[-1] < 2:
        return as_complex(T), as_complex(Z)
    form: tuple[Any, Any] = _rsf2csf(T, Z)
    return form


def _rsf2csf(t: Any, z: Any) -> tuple[Any, Any]:
    t, z = as_complex(t), as_complex(z)
    n = get_aval(t).shape[-1]
    eps = float(dtypes.finfo(get_aval(t).dtype).eps)
    places = np.arange(n)

    def turned(x: Any, first: Any, rotation: Any, to: Any) -> Array:
        """The matrices with two columns rotated, in the rows up to a given one."""
        columns = dynamic_slice_in_dim(x, first, 2, -1)
        columns = where((places <= to)[:, None], columns @ adjoint(rotation), columns)
        return dynamic_update_slice_in_dim(x, columns, first, -1)

    def step(k: Any, both: Any) -> tuple[Any, Any]:
        t, z = both
        i = n - 2 - k
        rows = dynamic_slice_in_dim(t, i, 2, -2)
        block = dynamic_slice_in_dim(rows, i, 2, -1)
        below, last = block[..., 1, 0], block[..., 1, 1]
        rotates = absolute(below) > eps * (absolute(block[..., 0, 0]) + absolute(last))
        along = numpy_linalg.eigvals(block)[..., 0] - last
        length = cast(where(rotates, hypot(absolute(along), absolute(below)), 1), get_aval(t).dtype)
        c, s = (where(rotates, x / length, unit) for x, unit in ((along, 1), (below, 0)))
        rotation = stack([stack([conj(c), s], -1), stack([-s, c], -1)], -2)
        rows = where(places >= i, rotation @ rows, rows)
        t = turned(dynamic_update_slice_in_dim(t, rows, i, -2), i, rotation, i + 1)
        is_below = (places[:, None] == i + 1) & (places == i)
        return where(is_below, 0, t), turned(z, i, rotation, n)

    return fori_loop(0, n - 1, step, (t, z))


def _by_superdiagonals(t: Any, on_diagonal: Any, above: Callable[[Any, Any, Any], Any]) -> Array:
    """A function of an upper triangular matrix, computed diagonal by diagonal.

    Args:
      t: upper triangular matrices.
      on_diagonal: the function of the diagonal.
      above: a function that computes the next diagonal from the known part of the result and, for each of its elements,
        the row and the column of `t`.
    """
    shape = get_aval(t).shape
    n = shape[-1]
    places = np.arange(n)
    distance = places[None, :] - places[:, None]
    d = diagonal(t)
    start = eye(get_aval(t).dtype, shape) * on_diagonal[..., None, :]

    def step(k: Any, f: Any) -> Array:
        return where(distance == k, above(f, d[..., :, None], d[..., None, :]), f)

    return fori_loop(1, n, step, start)


@one_program("blocksize", named="sqrtm")
def sqrtm(A: Any, blocksize: int = 1) -> Array:
    """The principal square roots of square matrices, by their Schur decompositions.

    Å. Björck and S. Hammarling, A Schur method for the square root of a matrix, Linear Algebra Appl. 52/53 (1983).

    Args:
      A: matrices of shape (..., n, n).
      blocksize: 1.

    Returns:
      A complex array of the shape of `A`; NaN if there is no square root.

    Raises:
      NotImplementedError: `blocksize` is not 1.
      ValueError: the matrices are not square.
    """
    blocksize = integer("sqrtm", "blocksize", blocksize)
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm: blocksize must be 1, got {blocksize}")
    t, z = schur(square("sqrtm", A, "A"), "complex")
    roots = sqrt(diagonal(t))
    rounding = (
        get_aval(t).shape[-1] * dtypes.finfo(get_aval(t).dtype).eps * sum_(absolute(t), axis=(-2, -1), keepdims=True)
    )

    def above(f: Any, *_: Any) -> Array:
        sums = roots[..., :, None] + roots[..., None, :]
        rest = t - f @ f
        return where((sums == 0) & (absolute(rest) > rounding), np.nan, rest / where(sums == 0, 1, sums))

    root = _by_superdiagonals(t, roots, above)
    return z @ root @ adjoint(z)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> tuple[Any, Array] | Array:
    """A function of a square matrix, from the function of its eigenvalues, by Parlett's recurrence.

    Args:
      A: a matrix of shape (n, n).
      func: an elementwise function of complex arrays.
      disp: whether to return only the result; if False, return an estimate of its error too. Nothing is printed.

    Returns:
      A complex array of the shape of `A`, which is inaccurate if eigenvalues nearly coincide; if not `disp`, a pair of
      the array and the error estimate.

    Raises:
      ValueError: `A` is not a square matrix.
    """
    check_function("funm", "func", func)
    t, z = schur(square("funm", A, "A"), "complex")
    eps = float(dtypes.finfo(get_aval(t).dtype).eps)

    def gaps(rows: Any, columns: Any) -> Array:
        difference = columns - rows
        return where(difference == 0, eps, difference)

    def above(f: Any, rows: Any, columns: Any) -> Array:
        return (t @ f - f @ t) / gaps(rows, columns)

    f = _by_superdiagonals(t, func(diagonal(t)), above)
    out = z @ f @ adjoint(z)
    if disp:
        return out
    n = get_aval(t).shape[-1]
    d = diagonal(t)
    strict = np.triu(np.ones((n, n), bool), 1)
    least = max_(where(strict, 1 / absolute(gaps(d[..., :, None], d[..., None, :])), 0), axis=(-2, -1))
    size = numpy_linalg.norm(where(strict, t, 0), 1, (-2, -1))
    error = where(least > 0, eps * least * size, eps)
    error = where(error > eps, error, eps)
    return out, where(isfinite(sum_(absolute(out), axis=(-2, -1))), where(error < 1, error, 1), np.inf)


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The solutions X of A @ X + X @ B = C.

    Args:
      A: matrices of shape (..., m, m).
      B: matrices of shape (..., n, n).
      C: matrices of shape (..., m, n).
      method: "schur", by Schur decompositions of A and B, or "eigen", by their eigenvectors.
      tol: sums of eigenvalues below `tol` are treated as zero, which gives NaN.

    Raises:
      ValueError: the shapes do not fit, or `method` is unknown.
    """
    if not among(method, ("schur", "eigen")):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    A, B, C = inexact("solve_sylvester", A, B, C)
    shapes = [get_aval(x).shape for x in (A, B, C)]
    for name, shape in (("A", shapes[0]), ("B", shapes[1])):
        require_square("solve_sylvester", shape, name)
    if len(shapes[2]) < 2 or shapes[2][-2:] != (shapes[0][-1], shapes[1][-1]):
        raise ValueError(f"solve_sylvester: C must have the rows of A and the columns of B, got shapes {shapes}")
    aval_of("solve_sylvester", tol, "tol")
    return _solve_sylvester(A, B, C, tol, method)


@one_program(static=4)
def _solve_sylvester(a: Any, b: Any, c: Any, tol: Any, method: str) -> Array:
    a, b = stacked("solve_sylvester", a, b)
    a, c = stacked("solve_sylvester", a, c)
    b, c = stacked("solve_sylvester", b, c)
    solution = _sylvester_by_schur(a, b, c, tol) if method == "schur" else _sylvester_by_eigenvectors(a, b, c, tol)
    return solution if dtypes.is_complex(get_aval(c).dtype) else solution.real


def _sylvester_by_schur(a: Any, b: Any, c: Any, tol: Any) -> Array:
    (t, u), (s, v) = schur(a, "complex"), schur(b, "complex")
    right = adjoint(u) @ as_complex(c) @ v
    m, n = get_aval(right).shape[-2:]
    sums = diagonal(t)[..., :, None] + diagonal(s)[..., None, :]
    singular = any_(absolute(sums) < tol, axis=(-2, -1), keepdims=True)
    columns = np.arange(n)

    def step(j: Any, y: Any) -> Array:
        here = columns == j
        factors = sum_(where(here, s, 0), axis=-1, keepdims=True)
        known = sum_(where(here, right, 0), axis=-1, keepdims=True) - y @ factors
        shift = sum_(where(here[:, None], factors, 0), axis=-2, keepdims=True)
        return where(here, solve_triangular(t + shift * np.eye(m, dtype=t.dtype), known), y)

    y = fori_loop(0, n, step, right * 0)
    return where(singular, np.nan, u @ y @ adjoint(v))


def _sylvester_by_eigenvectors(a: Any, b: Any, c: Any, tol: Any) -> Array:
    (p, u), (q, v) = numpy_linalg.eig(a), numpy_linalg.eig(b)
    right = numpy_linalg.solve(u, as_complex(c) @ v)
    sums = p[..., :, None] + q[..., None, :]
    y = where(absolute(sums) < tol, np.nan, right / sums)
    return mt(numpy_linalg.solve(mt(v), mt(u @ y)))
