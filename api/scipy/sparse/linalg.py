"""Linear systems by Krylov methods, with derivatives by another solve."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primax import closure_convert, lax, tree_util
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, integer
from primax.extend.provisional.typing import ArrayLike
from primax.flatten_util import ravel_pytree

__all__ = ["bicgstab", "cg", "gmres"]
__dir__ = __all__.copy

Operator = Callable[[Any], Any]


def _operator(function: str, name: str, value: Any, b: Any) -> Operator:
    """Convert a function, a matrix or an object with `@` to a function of pytrees like b."""
    if callable(value):
        function_of_trees: Operator = value
        return function_of_trees
    shape = getattr(value, "shape", None)
    if not hasattr(value, "__matmul__") or shape is None:
        raise TypeError(f"{function}: {name} must be a function or a matrix, got {value!r}")
    size = getattr(b, "shape", None)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{function}: {name} must be a square matrix, got shape {shape}")
    if size is None or tuple(size) != (shape[0],):
        raise ValueError(f"{function}: b must be a vector of length {shape[0]}, as {name} is a matrix, got {b!r}")
    return lambda x: value @ x


def _inexact_tree(function: str, name: str, value: Any) -> Any:
    def read(x: Any) -> Array:
        try:
            aval = get_aval(x)
        except TypeError:
            raise TypeError(f"{function}: {name} must be arrays in containers, got {x!r}") from None
        x = pnp.asarray(x)
        return x.astype(dtypes.to_inexact_dtype(aval.dtype))

    return tree_util.tree_map(read, value)


def _like(function: str, name: str, value: Any, b: Any, of: str) -> None:
    ours, theirs = (tree_util.tree_flatten(x) for x in (value, b))
    if ours[1] != theirs[1]:
        raise ValueError(f"{function}: {name} must have the structure of {of}, {theirs[1]}, got {ours[1]}")
    shapes = [[get_aval(x).shape for x in leaves] for leaves, _ in (ours, theirs)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{function}: {name} must have the shapes of {of}, {shapes[1]}, got {shapes[0]}")


def _dot(x: Any, y: Any) -> Array:
    return pnp.vdot(x, y, precision=lax.Precision.HIGHEST)


def _square(x: Any) -> Array:
    return pnp.real(_dot(x, x))


def _safe(x: Any) -> Array:
    """A divisor with 0 replaced by 1."""
    return pnp.where(x == 0, 1, x)


def _limit(b: Any, tol: Any, atol: Any) -> Array:
    """The tolerance of the squared norm of the residual."""
    return pnp.maximum(tol * tol * _square(b), atol * atol).astype(pnp.real(b).dtype)


def _constant(operator: Operator, b: Any) -> Operator:
    """An operator without derivatives, also of its closure: a preconditioner does not change the solution."""
    converted, consts = closure_convert(operator, b)
    consts = lax.stop_gradient(consts)
    return lambda x: converted(x, *consts)


def _cg(A: Operator, b: Any, x: Any, M: Operator, limit: Any, maxiter: int) -> tuple[Any, Any, Any]:
    """M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems" (1952)."""

    def condition(state: Any) -> Array:
        _, r, _, _, k = state
        return (_square(r) > limit) & (k < maxiter)

    def step(state: Any) -> tuple[Any, Any, Any, Any, Any]:
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / _safe(_dot(p, Ap))
        x, r = x + alpha * p, r - alpha * Ap
        z = M(r)
        after = _dot(r, z)
        return x, r, after, z + after / _safe(gamma) * p, k + 1

    r = b - A(x)
    z = M(r)
    x, r, _, _, k = lax.while_loop(condition, step, (x, r, _dot(r, z), z, 0))
    return x, r, k


def _bicgstab(A: Operator, b: Any, x: Any, M: Operator, limit: Any, maxiter: int) -> tuple[Any, Any, Any]:
    """H. A. van der Vorst, "Bi-CGSTAB" (1992), with a preconditioner from the right."""

    def condition(state: Any) -> Array:
        _, _, r, _, _, _, _, broken, k = state
        return (_square(r) > limit) & (k < maxiter) & ~broken

    def step(state: Any) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any]:
        x, shadow, r, p, rho, alpha_omega, v, _, k = state
        alpha, omega = alpha_omega
        new_rho = _dot(shadow, r)
        beta = new_rho / _safe(rho) * alpha / _safe(omega)
        p = r + beta * (p - omega * v)
        p_hat = M(p)
        v = A(p_hat)
        along = _dot(shadow, v)
        alpha = new_rho / _safe(along)
        s = r - alpha * v
        early = _square(s) < limit
        s_hat = M(s)
        t = A(s_hat)
        omega = pnp.where(early, 0, _dot(t, s) / _safe(_dot(t, t))).astype(b.dtype)
        x = x + alpha * p_hat + omega * s_hat
        broken = (new_rho == 0) | (along == 0) | ((omega == 0) & ~early)
        return x, shadow, s - omega * t, p, new_rho, (alpha, omega), v, broken, k + 1

    r, one = b - A(x), pnp.ones((), b.dtype)
    zero = pnp.zeros_like(b)
    state = x, r, r, zero, one, (one, one), zero, pnp.asarray(False), 0
    x, _, r, *_, k = lax.while_loop(condition, step, state)
    return x, r, k


def _arnoldi_step(A: Operator, V: Any, k: Any) -> tuple[Any, Any]:
    """The next basis vector of the Krylov space, orthogonalized twice, and a column of the Hessenberg matrix."""
    q = A(V[:, k])
    basis = V.conj().T
    h = pnp.matmul(basis, q, precision=lax.Precision.HIGHEST)
    q = q - pnp.matmul(V, h, precision=lax.Precision.HIGHEST)
    again = pnp.matmul(basis, q, precision=lax.Precision.HIGHEST)
    q = q - pnp.matmul(V, again, precision=lax.Precision.HIGHEST)
    h = h + again
    norm = pnp.sqrt(_square(q))
    # A vector of the size of rounding errors is zero: the space is complete.
    tiny = norm <= 100 * float(dtypes.finfo(q.dtype).eps) * pnp.sqrt(_square(h))
    norm = pnp.where(tiny, 0, norm)
    q = pnp.where(tiny, 0, q / _safe(norm))
    return q, h.at[k + 1].set(norm.astype(h.dtype))


def _cycle(A: Operator, r: Any, restart: int) -> Array:
    """The correction from a Krylov space of `restart` vectors, by least squares at its end."""
    beta = pnp.sqrt(_square(r))
    V = pnp.zeros((r.size, restart + 1), r.dtype).at[:, 0].set(r / _safe(beta))
    H = pnp.zeros((restart + 1, restart), r.dtype)

    def step(k: Any, state: Any) -> tuple[Any, Any]:
        V, H = state
        q, h = _arnoldi_step(A, V, k)
        return V.at[:, k + 1].set(q), H.at[:, k].set(h)

    V, H = lax.fori_loop(0, restart, step, (V, H))
    rhs = pnp.zeros(restart + 1, r.dtype).at[0].set(beta.astype(r.dtype))
    y = pnp.linalg.lstsq(H, rhs)[0]
    return pnp.matmul(V[:, :restart], y, precision=lax.Precision.HIGHEST)


def _rotation(a: Any, b: Any) -> tuple[Any, Any]:
    """Cosine and sine of the Givens rotation that maps (a, b) to (r, 0), for real b."""
    r = pnp.sqrt(pnp.real(a * pnp.conj(a)) + pnp.real(b) ** 2)
    return pnp.where(r == 0, 1, a / _safe(r)), b / _safe(r)


def _turned(x: Any, k: Any, c: Any, s: Any) -> Array:
    """Rotate the elements k and k + 1 of a vector."""
    a, b = x[k], x[k + 1]
    return x.at[k].set(pnp.conj(c) * a + s * b).at[k + 1].set(c * b - s * a)


def _incremental_cycle(A: Operator, r: Any, restart: int, limit: Any) -> Array:
    """`_cycle` by Givens rotations, which ends once the residual is small enough."""
    beta = pnp.sqrt(_square(r))
    V = pnp.zeros((r.size, restart + 1), r.dtype).at[:, 0].set(r / _safe(beta))
    R = pnp.eye(restart + 1, restart, dtype=r.dtype)
    turns = pnp.zeros((restart, 2), r.dtype)
    rhs = pnp.zeros(restart + 1, r.dtype).at[0].set(beta.astype(r.dtype))

    def condition(state: Any) -> Array:
        k, _, _, _, rhs = state
        rest = rhs[k]
        return (k < restart) & (pnp.real(rest * pnp.conj(rest)) > limit)

    def step(state: Any) -> tuple[Any, Any, Any, Any, Any]:
        k, V, R, turns, rhs = state
        q, h = _arnoldi_step(A, V, k)

        def turn(i: Any, column: Any) -> Array:
            return _turned(column, i, *turns[i])

        h = lax.fori_loop(0, k, turn, h)
        c, s = _rotation(h[k], h[k + 1])
        turns = turns.at[k].set(pnp.stack([c, s]))
        h, rhs = _turned(h, k, c, s), _turned(rhs, k, c, s)
        return k + 1, V.at[:, k + 1].set(q), R.at[:, k].set(h), turns, rhs

    k, V, R, _, rhs = lax.while_loop(condition, step, (0, V, R, turns, rhs))
    used = pnp.arange(restart) < k
    square = R[:restart]
    empty = used & (pnp.diagonal(square) == 0)
    square = square + pnp.diag(empty.astype(r.dtype))
    y = pnp.where(used & ~empty, rhs[:restart], 0)
    y = lax.linalg.triangular_solve(square, y[:, None], left_side=True)[:, 0]
    return pnp.matmul(V[:, :restart], y, precision=lax.Precision.HIGHEST)


def _gmres(restart: int, incremental: bool) -> Callable[..., Any]:
    """Y. Saad and M. H. Schultz, "GMRES" (1986), with a preconditioner from the right."""

    def solve(A: Operator, b: Any, x: Any, M: Operator, limit: Any, maxiter: int) -> Any:
        size = min(restart, b.size)

        def preconditioned(v: Any) -> Array:
            return A(M(v))

        def condition(state: Any) -> Array:
            _, r, before, k = state
            rest = _square(r)
            return (rest > limit) & (k < maxiter) & (rest < before)

        def step(state: Any) -> tuple[Any, Any, Any, Any]:
            x, r, _, k = state
            if incremental:
                correction = _incremental_cycle(preconditioned, r, size, limit)
            else:
                correction = _cycle(preconditioned, r, size)
            x = x + M(correction)
            return x, b - A(x), _square(r), k + 1

        r = b - A(x)
        start = x, r, pnp.full((), np.inf, limit.dtype), 0
        x, r, _, k = lax.while_loop(condition, step, start)
        return x, r, k

    return solve


def _size_of(*vectors: Any) -> Array:
    """A power of 2 near the largest absolute value of the elements of vectors; 1 if that is zero or not finite."""
    parts = [part for v in vectors for part in (pnp.real(v), pnp.imag(v))]
    greatest = functools.reduce(pnp.maximum, [pnp.max(pnp.abs(part), initial=0) for part in parts])
    normal = (greatest > 0) & pnp.isfinite(greatest)
    return pnp.where(normal, pnp.exp2(pnp.floor(pnp.log2(pnp.where(normal, greatest, 1)))), 1).astype(greatest.dtype)


def _scaled(
    method: Any, A: Operator, b: Any, x: Any, M: Operator, tol: Any, atol: Any, maxiter: int
) -> tuple[Any, Any]:
    """Solve for vectors near 1, whose inner products neither overflow nor underflow.

    Returns:
      The solution, and whether it was found: 0; the number of steps that did not suffice, at least 1; -1 if the
        solution or its residual is not finite.
    """
    zero = pnp.all(b == 0)
    size = _size_of(b, b - A(x))
    unit, start = b / size, x / size
    limit = _limit(unit, tol, pnp.asarray(atol) / size)
    found, r, k = method(A, unit, start, M, limit, maxiter)
    rest = _square(unit - A(found))
    finite = pnp.isfinite(rest) & pnp.all(pnp.isfinite(found))
    # The residual of the recursion differs from the true residual, which may be twice as large as the tolerance.
    converged = zero | (finite & (_square(r) <= limit) & (rest <= 4 * limit))
    info = pnp.where(converged, 0, pnp.where(finite, pnp.maximum(k, 1), -1)).astype(dtypes.default_int_dtype())
    return pnp.where(zero, 0, found * size), info


def _solve(
    function: str, method: Any, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any, hermitian: bool
) -> tuple[Any, Any]:
    """The common part of all solvers: pytrees become vectors, and derivatives are those of the solution."""
    b = _inexact_tree(function, "b", b)
    x0 = tree_util.tree_map(pnp.zeros_like, b) if x0 is None else _inexact_tree(function, "x0", x0)
    _like(function, "x0", x0, b, "b")
    matvec = _operator(function, "A", A, b)
    precondition = (lambda x: x) if M is None else _constant(_operator(function, "M", M, b), b)
    sizes = [get_aval(x).size for x in tree_util.tree_leaves(b)]
    if maxiter is None:
        maxiter = 10 * sum(sizes)
    maxiter = min(integer(function, "maxiter", maxiter), 2**31 - 1)
    if not sum(sizes):
        return b, pnp.asarray(0)
    start = lax.stop_gradient(ravel_pytree(x0)[0])

    def checked(x: Any) -> Any:
        out = matvec(x)
        _like(function, "what A returns", out, b, "b")
        return out

    def solve(matvec: Operator, b: Any) -> tuple[Any, Any]:
        flat, unravel = ravel_pytree(b)

        def of_vectors(operator: Operator) -> Operator:
            return lambda v: pnp.asarray(ravel_pytree(operator(unravel(v)))[0], flat.dtype)

        operators = of_vectors(matvec), of_vectors(precondition)
        first = start.astype(flat.dtype)
        x, info = _scaled(method, operators[0], flat, first, operators[1], tol, atol, maxiter)
        return unravel(x), info

    real = not any(dtypes.is_complex(x.dtype) for x in tree_util.tree_leaves(b))
    x, info = lax.custom_linear_solve(
        checked, b, solve, transpose_solve=solve, symmetric=hermitian and real, has_aux=True
    )
    return x, info


def _arguments(source: str, condition: str = "", restart: str = "", steps: str = "steps", method: str = "") -> str:
    """The documentation of arguments, results and errors, which the methods share."""
    return f"""

    Args:
      A: the operator{condition}; a function of a pytree of arrays like b, a matrix, or an object that supports `@`.
      b: the right-hand side, a pytree of arrays.
      x0: the initial guess, a pytree like b; zeros if None.
      tol: the relative tolerance: the iteration ends when norm(b - A x) <= max(tol norm(b), atol).
      atol: the absolute tolerance.
{restart}      maxiter: the maximal number of {steps}; ten times the number of elements if None.
      M: a preconditioner: an operator close to the inverse of A; none if None.
{method}
    Returns:
      The solution, a pytree like b, and a number: 0 if the residual is within the tolerance, or twice that by rounding;
        the number of steps, at least 1, if these did not suffice; -1 if the solution or its residual is not finite. If
        b is zero, the solution is zero.

    Raises:
      TypeError: `A` or `M` is not an operator, or `b` or `x0` has no arrays.
      ValueError: the structures or shapes of `b`, `x0` and the result of `A` differ, or a matrix has the wrong shape.

    Derivatives are those of the solution, by another solve with the same method; they are accurate if both converge.

    Source: {source}.
"""


def cg(
    A: ArrayLike | Callable[[Any], Any],
    b: object,
    x0: object = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: ArrayLike | Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    return _solve("cg", _cg, A, b, x0, tol, atol, maxiter, M, True)


cg.__doc__ = (
    "Solve A x = b by conjugate gradients."
    + _arguments(
        'M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems" (1952)',
        condition=", Hermitian and positive definite",
    )
    + """
    >>> import primax as px
    >>> x, _ = px.scipy.sparse.linalg.cg(lambda x: 2.0 * x, px.numpy.array([2.0, 4.0]))
    >>> x.tolist()
    [1.0, 2.0]
    """
)


def bicgstab(
    A: ArrayLike | Callable[[Any], Any],
    b: object,
    x0: object = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: ArrayLike | Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, False)


bicgstab.__doc__ = (
    "Solve A x = b by stabilized biconjugate gradients."
    + _arguments('H. A. van der Vorst, "Bi-CGSTAB" (1992)')
    + """

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> a = pnp.array([[2.0, 1.0], [0.0, 4.0]])
      >>> x, _ = px.scipy.sparse.linalg.bicgstab(lambda x: a @ x, pnp.array([3.0, 4.0]))
      >>> x.round()
      Array([1., 1.], dtype=float32)
    """
)


def gmres(
    A: ArrayLike | Callable[[Any], Any],
    b: object,
    x0: object = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: ArrayLike | Callable[[Any], Any] | None = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    size = integer("gmres", "restart", restart)
    if size < 1:
        raise ValueError(f"gmres: restart must be positive, got {size}")
    if not among(solve_method, ("batched", "incremental")):
        raise ValueError(f"gmres: solve_method must be 'batched' or 'incremental', got {solve_method!r}")
    method = _gmres(size, solve_method == "incremental")
    return _solve("gmres", method, A, b, x0, tol, atol, maxiter, M, False)


gmres.__doc__ = (
    "Solve A x = b by generalized minimal residuals."
    + _arguments(
        'Y. Saad and M. H. Schultz, "GMRES" (1986)',
        restart="      restart: how many vectors the Krylov space has, before it is built anew.\n",
        steps="Krylov spaces",
        method="""      solve_method: "batched" for least squares once the space is built, or "incremental" for
        rotations on the way, which end early.
""",
    )
    + """

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> b = {"a": pnp.array([2.0]), "b": pnp.array([4.0])}  # vectors may have any structure
      >>> x, _ = px.scipy.sparse.linalg.gmres(lambda x: {"a": 2 * x["a"], "b": 4 * x["b"]}, b)
      >>> px.tree.map(pnp.round, x)
      {'a': Array([1.], dtype=float32), 'b': Array([1.], dtype=float32)}
    """
)
