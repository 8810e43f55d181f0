"""Functions of square matrices: exponentials, square roots and other functions, and Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb, factorial
from math import log2 as exponent_of
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, check_function, integer
from primax.extend.provisional.transformations import jvp
from primax.extend.provisional.typing import ArrayLike
from primax.numpy import linalg as numpy_linalg
from primax.numpy.formulas import hypot
from primax.numpy.joining import stack
from primax.numpy.linalg.operands import inexact, require_square, square, stacked
from primax.numpy.padding import pad
from primax.numpy.predicates import isfinite, isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, cast
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import sum as sum_
from primax.numpy.rounding import ceil as ceil_
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, exp, exp2, expm1, log2, maximum, minimum, real, sqrt
from primax.plugins.control_flow import cond, fori_loop, while_loop
from primax.plugins.custom_derivatives import custom_jvp, custom_linear_solve
from primax.plugins.custom_derivatives.linear import linear_call_by
from primax.plugins.indexing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from primax.plugins.linalg.matrices import adjoint, as_complex, conj, diagonal, eye, mt, real_dtype
from primax.plugins.structural import stop_gradient
from primax.scipy.linalg.equations import solve_triangular
from primax.scipy.linalg.factorizations import schur

__all__ = ["expm", "expm_frechet", "funm", "rsf2csf", "solve_sylvester", "sqrtm"]

# The number of squarings in second derivatives of exponentials.
_MOST_SQUARINGS = 24
# For each precision: the degree of the approximation; the largest norm for which its error is below rounding; and the
# largest growth of powers for which it is, if the powers of the absolute values are small too.
_PADE = {
    np.dtype(np.float32): (7, 3.925724783138660, 3.925724783138660),
    np.dtype(np.float64): (13, 5.371920351148152, 4.25),
}


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponentials of square matrices, by a Padé approximation, scaling and squaring.

    The scaling follows from the growth of powers, so that large elements far from the diagonal cost no accuracy. The
    diagonal and the superdiagonal of upper triangular matrices are computed exactly after each squaring.

    A. H. Al-Mohy and N. J. Higham, A new scaling and squaring algorithm for the matrix exponential, SIAM J. Matrix
    Anal. Appl. 31 (2009).

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
    return _exponential(upper_triangular, max_squarings, A) if get_aval(A).size else A


@partial(custom_jvp, nondiff_argnums=(0, 1))
def _exponential(upper_triangular: bool, max_squarings: int, a: Any) -> Array:
    powers = _powers(a)
    halvings = _halvings(a, powers)
    # Round up for the accuracy of the approximation, except where `max_squarings` allows no more squarings.
    needed = where(halvings > 0, halvings, 0)
    times = minimum(ceil_(needed), max_squarings)
    shape, dtype = get_aval(a).shape, get_aval(a).dtype
    below = np.tril(np.ones(shape[-2:], bool), -1)
    triangular = ~any_((a != 0) & below, axis=(-2, -1), keepdims=True) & (shape[-1] > 1)

    def exact(x: Any, a: Any) -> Array:
        return where(triangular, _with_exact_band(a, x), x)

    def step(state: Any) -> tuple[Any, Any]:
        i, x = state
        scaled = a * exp2(i + 1 - times).astype(dtype)
        again = cond(any_(triangular), exact, lambda x, _: x, x @ x, scaled)
        return i + 1, where(i < times, again, x)

    out = _approximation(a, powers, times, upper_triangular)
    start = get_aval(times).dtype.type(0), exact(out, a * exp2(-times).astype(dtype))
    _, out = while_loop(lambda state: any_(state[0] < times), step, start)
    return where(needed < max_squarings + 1, out, np.nan)


@_exponential.defjvp
def _exponential_jvp(upper_triangular: bool, max_squarings: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (a,), (t,) = primals, tangents
    out = _exponential(upper_triangular, max_squarings, a)
    return out, where(isnan(out[..., :1, :1]), np.nan, _change(a, t))


def _change(a: Any, t: Any) -> Array:
    """The derivative of the exponential, linear in `t`. Its transpose is the derivative at the transposed matrix."""
    out: Array = linear_call_by(_change_by_squaring, lambda a, ct: _change(mt(a), ct), _change_by_constant_loop, a, t)
    return out


def _times_by_norm(a: Any) -> Array:
    norm, bound = _norm(a), _PADE.get(real_dtype(get_aval(a).dtype), _PADE[np.dtype(np.float32)])[1]
    return where(norm > bound, ceil_(log2(norm / bound)), 0)


def _change_by_squaring(a: Any, t: Any) -> Array:
    """The derivative, scaled by the norm: powers may grow in the direction `t` where those of `a` do not."""
    times = _times_by_norm(a)
    x, dx = jvp(lambda a: _approximation(a, _powers(a), times, False), (a,), (t,))

    def step(state: Any) -> tuple[Any, Any, Any]:
        i, x, dx = state
        active = i < times
        return i + 1, where(active, x @ x, x), where(active, x @ dx + dx @ x, dx)

    return while_loop(lambda state: any_(state[0] < times), step, (get_aval(times).dtype.type(0), x, dx))[2]


def _change_by_constant_loop(a: Any, t: Any) -> Array:
    """The same derivative, by a loop of constant length, which can be differentiated in both modes."""
    times = _times_by_norm(a)
    whole = minimum(times, _MOST_SQUARINGS).astype(np.int32)

    def exponential(a: Any) -> Array:
        out = _approximation(a, _powers(a), times, False)
        return fori_loop(0, _MOST_SQUARINGS, lambda i, x: where(i < whole, x @ x, x), out)

    return jvp(exponential, (a,), (t,))[1] * where(times <= _MOST_SQUARINGS, 1, np.nan).astype(get_aval(a).dtype)


def _norm(a: Any) -> Array:
    return stop_gradient(numpy_linalg.norm(a, 1, (-2, -1), True))


def _powers(a: Any) -> list[tuple[Any, Any]]:
    """The powers 2, 4 and 6 of matrices, divided by powers of 2 so that their norms are near 1, and these exponents."""

    def normalized(a: Any, exponent: Any) -> tuple[Any, Any]:
        norm = _norm(a)
        change = where((norm > 0) & isfinite(norm), ceil_(log2(where(norm > 0, norm, 1))), 0)
        return a * exp2(-change).astype(get_aval(a).dtype), where(norm > 0, exponent + change, 0)

    first, exponent = normalized(a, 0)
    second, exponent2 = normalized(first @ first, 2 * exponent)
    fourth, exponent4 = normalized(second @ second, 2 * exponent2)
    return [(second, exponent2), (fourth, exponent4), normalized(second @ fourth, exponent2 + exponent4)]


def _halvings(a: Any, powers: Any) -> Array:
    """An upper bound of the necessary number of halvings: the smaller of two bounds."""
    dtype = real_dtype(get_aval(a).dtype)
    degree, bound, of_growth = _PADE.get(dtype, _PADE[np.dtype(np.float32)])
    norm = _norm(a)
    by_norm = log2(norm / bound)
    eighth = _norm(powers[1][0] @ powers[1][0]), 2 * powers[1][1]
    norms = *((_norm(x), exponent) for x, exponent in powers[1:]), eighth
    by_4, by_6, by_8 = ((exponent + log2(size)) / k for k, (size, exponent) in zip((4, 6, 8), norms, strict=True))
    by_growth = maximum(minimum(maximum(by_4, by_6), maximum(by_6, by_8)) - exponent_of(of_growth), 0)
    # The first neglected term, of absolute values: products with a vector of ones give the norms of the powers.
    last = 2 * degree + 1
    scale = where(norm > 0, norm, 1)
    sizes = absolute(stop_gradient(a)) / scale

    def multiply(_: Any, state: Any) -> tuple[Any, Any]:
        v, logarithm = state
        v = v @ sizes
        size = max_(v, axis=(-2, -1), keepdims=True)
        return v / where(size > 0, size, 1), logarithm + log2(size)

    ones = sizes[..., :1, :] * 0 + 1
    _, logarithm = fori_loop(0, last, multiply, (ones, norm * 0))
    coefficient = -exponent_of(comb(2 * degree, degree)) - exponent_of(factorial(last))
    term = (
        coefficient
        + logarithm
        + (last - 1) * (log2(scale) - ceil_(by_growth))
        - exponent_of(float(dtypes.finfo(dtype).eps) / 2)
    )
    by_growth = ceil_(by_growth) + maximum(ceil_(term / (2 * degree)), 0)
    return where(by_growth < by_norm, by_growth, by_norm)


def _approximation(a: Any, powers: Any, times: Any, upper_triangular: bool) -> Array:
    """The Padé approximation of the exponentials of matrices, after these are halved `times` times."""
    dtype = get_aval(a).dtype
    degree = _PADE.get(real_dtype(dtype), _PADE[np.dtype(np.float32)])[0]
    coefficients = [
        factorial(2 * degree - k) * factorial(degree) / (factorial(2 * degree) * factorial(k) * factorial(degree - k))
        for k in range(degree + 1)
    ]
    ones = eye(dtype, get_aval(a).shape)
    small = a * exp2(-times).astype(dtype)
    second, fourth, sixth = (
        x * exp2(exponent - k * times).astype(dtype) for k, (x, exponent) in zip((2, 4, 6), powers, strict=True)
    )

    def part(start: int) -> Array:
        """The terms of the even or the odd powers, the latter divided by the matrix."""
        c = coefficients[start::2]
        low = c[3] * sixth + c[2] * fourth + c[1] * second + c[0] * ones
        if len(c) == 4:
            return low
        return sixth @ (c[6] * sixth + c[5] * fourth + c[4] * second) + low

    u, even = small @ part(1), part(0)
    return (solve_triangular if upper_triangular else numpy_linalg.solve)(even - u, even + u)


def _with_exact_band(a: Any, x: Any) -> Array:
    """Approximate exponentials of upper triangular matrices with an exact diagonal and superdiagonal.

    Element (i, i + 1) is that of `a` times the divided difference of the exponentials of diagonal elements i and i + 1.
    """
    n = get_aval(a).shape[-1]
    d = diagonal(a)
    first, second = d[..., :-1], d[..., 1:]
    greater = real(first) >= real(second)
    top, bottom = where(greater, first, second), where(greater, second, first)
    gap = top - bottom
    near = absolute(gap) < 0.4
    safe = where(near, 1, gap)
    h = where(near, gap, 0) / 2
    series = 1 + h * h / 6 * (1 + h * h / 20 * (1 + h * h / 42 * (1 + h * h / 72 * (1 + h * h / 110))))
    quotient = where(near, exp(-h) * series, -expm1(-safe) / safe)
    above = diagonal(a[..., :-1, 1:]) * exp(top) * quotient
    band = where(np.eye(n, dtype=bool), exp(d)[..., None, :], x)
    moved = pad(above, [(0, 0)] * (len(get_aval(d).shape) - 1) + [(1, 0)])
    return where(np.eye(n, k=1, dtype=bool), moved[..., None, :], band)


@one_program("method compute_expm", named="expm_frechet")
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> tuple[Any, Any]:
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

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> value, change = px.scipy.linalg.expm_frechet(pnp.zeros((2, 2)), pnp.array([[0.0, 1.0], [0.0, 0.0]]))
      >>> value, change
      (Array([[1., 0.],
             [0., 1.]], dtype=float32), Array([[0., 1.],
             [0., 0.]], dtype=float32))
    """
    if not among(method, (None, "SPS", "blockEnlarge")):
        raise ValueError(f"expm_frechet: method must be 'SPS', 'blockEnlarge' or None, got {method!r}")
    A, E = inexact("expm_frechet", A, E)
    require_square("expm_frechet", get_aval(A).shape, "A")
    if get_aval(A).shape != get_aval(E).shape:
        raise ValueError(
            f"expm_frechet: A and E must have the same shape, got {get_aval(A).shape} and {get_aval(E).shape}"
        )
    value, change = jvp(expm, (A,), (E,))
    return (value, change) if compute_expm else change


@one_program("check_finite", named="rsf2csf")
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """Convert real Schur decompositions to complex ones, by rotations of two rows and columns each.

    Args:
      T, Z: the result of `schur` with `output="real"`.
      check_finite: ignored.

    Returns:
      An upper triangular T and a unitary Z.

    Raises:
      ValueError: the matrices are not square, or shapes differ.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> t, z = px.scipy.linalg.rsf2csf(pnp.array([[0.0, 1.0], [-1.0, 0.0]]), pnp.eye(2))
      >>> t.dtype, sorted(pnp.diagonal(t).imag.round().tolist())
      (dtype('complex64'), [-1.0, 1.0])
    """
    T, Z = inexact("rsf2csf", T, Z)
    for name, x in (("T", T), ("Z", Z)):
        require_square("rsf2csf", get_aval(x).shape, name)
    if get_aval(T).shape != get_aval(Z).shape:
        raise ValueError(f"rsf2csf: T and Z must have the same shape, got {get_aval(T).shape} and {get_aval(Z).shape}")
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
        is_below = (places[:, None] == i + 1) & (places == i)[None]
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
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square roots of square matrices, by their Schur decompositions.

    Å. Björck and S. Hammarling, A Schur method for the square root of a matrix, Linear Algebra Appl. 52/53 (1983).

    Args:
      A: matrices of shape (..., n, n).
      blocksize: 1.

    Returns:
      A complex array of the shape of `A`; NaN if there is no square root. Derivatives solve Sylvester's equation; they
      are infinite or NaN for singular matrices.

    Raises:
      NotImplementedError: `blocksize` is not 1.
      ValueError: the matrices are not square.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.sqrtm(pnp.diag(pnp.array([4.0, -9.0]))).imag.round()  # the result is complex
      Array([[0., 0.],
             [0., 3.]], dtype=float32)
    """
    blocksize = integer("sqrtm", "blocksize", blocksize)
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm: blocksize must be 1, got {blocksize}")
    return _sqrtm(as_complex(square("sqrtm", A, "A")))


@custom_jvp
def _sqrtm(a: Any) -> Array:
    t, z = schur(a, "complex")
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


@_sqrtm.defjvp
def _sqrtm_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """For X X = A, X dX + dX X = dA."""
    root = _sqrtm(*primals)
    return root, _solve_sylvester(root, root, tangents[0], 0, "schur")


def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> tuple[Any, Array] | Array:
    """A function of square matrices, from the function of their eigenvalues, by Parlett's recurrence.

    Args:
      A: matrices of shape (..., n, n); JAX takes only one.
      func: an elementwise function of complex arrays.
      disp: whether to return only the result; if False, return an estimate of its error too. Nothing is printed.

    Returns:
      A complex array of the shape of `A`, which is inaccurate if eigenvalues nearly coincide; if not `disp`, a pair of
      the array and the error estimates, one for each matrix.

    Raises:
      ValueError: the matrices are not square.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.funm(pnp.diag(pnp.array([4.0, 9.0])), pnp.sqrt, disp=True).real.round()
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
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


def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The solutions X of A @ X + X @ B = C.

    Args:
      A: matrices of shape (..., m, m).
      B: matrices of shape (..., n, n).
      C: matrices of shape (..., m, n).
      method: "schur", by Schur decompositions of A and B, or "eigen", by their eigenvectors.
      tol: sums of eigenvalues below `tol` are treated as zero, which gives NaN.

    Raises:
      ValueError: the shapes do not fit, or `method` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> a, b = pnp.diag(pnp.array([1.0, 3.0])), pnp.diag(pnp.array([1.0, 5.0]))
      >>> px.scipy.linalg.solve_sylvester(a, b, pnp.array([[2.0, 6.0], [4.0, 8.0]])).round()
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
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
    known = stop_gradient(a), stop_gradient(b)
    solver = _sylvester_by_schur if method == "schur" else _sylvester_by_eigenvectors

    def solve(_: Any, c: Any) -> Array:
        solution = solver(*known, c, tol)
        return solution if dtypes.is_complex(get_aval(c).dtype) else solution.real

    def transpose_solve(_: Any, ct: Any) -> Array:
        """A^T Y + Y B^T = C is the equation B Y^T + Y^T A = C^T."""
        solution = mt(solver(known[1], known[0], mt(ct), tol))
        return solution if dtypes.is_complex(get_aval(ct).dtype) else solution.real

    return custom_linear_solve(lambda x: a @ x + x @ b, c, solve, transpose_solve)


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
