"""Which values of primax are right where jax has others: conditions for the field `right` of an entry.

Each takes the text of a call and the difference. A condition that compares arrays checks every element that differs.
It may raise an error where a reference refuses the call: then the entry does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import ml_dtypes
import numpy as np
import scipy.linalg
import scipy.special

import primax as px
from fuzz.compare import Difference, at_leaf, tolerance, wide
from fuzz.oracles import array_of, as_floats, evaluate, numpy_says, wide_jax_says, widened
from fuzz.values import WIDTHS, kind_of

Right = Callable[[str, Difference], bool]


def elements(found: Difference) -> tuple[np.ndarray, np.ndarray]:
    """primax's elements that differ, and those of jax, in 64 bits; those in the message if there are no arrays."""
    if found.mine is not None and found.other is not None:
        where = found.where()
        return wide(found.mine)[where], wide(found.other)[where]
    shown = re.search(r"primax: np\.\w+?(\(.*\)|_), jax: np\.\w+?(\(.*\)|_)$", found.message)
    if shown is None:
        return np.array(np.nan), np.array(np.nan)
    mine, other = (np.array(complex(text.strip("()"))) for text in shown.groups())
    return mine, other


def each(condition: Callable[[np.ndarray, np.ndarray], Any]) -> Right:
    """A condition on primax's elements and jax's holds for all that differ."""

    def right(text: str, found: Difference) -> bool:
        mine, other = elements(found)
        with np.errstate(all="ignore"):
            return bool(np.all(condition(mine, other)))

    return right


def apart_at_most(distance: float) -> Right:
    """Values are at most so far apart, relative to their size if they are greater than 1."""
    return each(lambda mine, other: np.abs(mine - other) <= distance * np.maximum(1.0, np.abs(other)))


def is_of(says: Callable[[str], Any], least: float = 0.0, nan: bool = False, neither: bool = False) -> Right:
    """primax's elements that differ from jax's are those that a reference has for the call.

    Args:
      says: the value of a call, as nested as that of primax.
      least: the least tolerance, where that of the dtype is less; also for numbers less than 1 in size.
      nan: whether primax may also have NaN.
      neither: whether primax and jax may also have infinities and NaN both.
    """

    def right(text: str, found: Difference) -> bool:
        if found.mine is None:
            return False
        reference = np.asarray(at_leaf(says(text), found.at))
        if reference.shape != found.mine.shape:
            return False
        return bool((_agree(found, reference, least) | _allowed(found, nan, neither))[found.where()].all())

    return right


def _agree(found: Difference, reference: np.ndarray, least: float) -> np.ndarray:
    mine = found.mine
    assert mine is not None
    with np.errstate(all="ignore"):
        if mine.dtype.kind == "b":
            reference = reference.astype(bool)
        elif mine.dtype.kind in "fcV":
            if reference.dtype.kind == "c" and mine.dtype.kind != "c":
                return np.zeros(mine.shape, bool)
            reference = reference.astype(mine.dtype)  # values that overflow the dtype are infinite
        r, a = wide(reference), wide(mine)
        scale = np.abs(np.where(np.isfinite(r), r, 0)).max(initial=0.0)
        near = np.abs(a - r) <= max(tolerance(mine.dtype) * scale, least * max(scale, 1.0))
    return np.asarray((a == r) | (np.isnan(a) & np.isnan(r)) | near)


def _allowed(found: Difference, nan: bool, neither: bool) -> np.ndarray:
    assert found.mine is not None
    assert found.other is not None
    mine, other = wide(found.mine), wide(found.other)
    infinite = ~np.isfinite(mine) & ~np.isfinite(other)
    return (np.isnan(mine) & nan) | (infinite & neither)


# References.


def rewritten(pattern: str, by: str, says: Callable[[str], Any]) -> Callable[[str], Any]:
    """What a reference says of a call whose text is changed."""
    return lambda text: says(re.sub(pattern, by, text))


def without(*names: str, says: Callable[[str], Any] = numpy_says) -> Callable[[str], Any]:
    """What a reference says of a call without these keywords."""
    value = r"(?:'[^']*'|[\w.]+(?:\([^()]*\))?)"
    return rewritten(rf", (?:{'|'.join(names)})={value}", "", says)


def jax_says(text: str) -> Any:
    """The value of a call in jax."""
    return evaluate(text, jax, array_of(jax))


def primax_says(text: str) -> Any:
    """The value of a call in primax."""
    return evaluate(text, px, array_of(px))


def jax_of(convert: Callable[[np.ndarray], np.ndarray]) -> Callable[[str], Any]:
    """The value of a call in jax, in 64 bits, with converted arrays, those of NumPy, too."""

    def says(text: str) -> Any:
        def array(values: Any, dtype: str) -> Any:
            return jax.numpy.asarray(convert(widened(values, dtype)))

        scope = {"m": jax, "A": array, "array": array, "np": np, "nan": np.nan, "inf": np.inf}
        with jax.enable_x64(True):
            return jax.block_until_ready(eval(text, scope))

    return says


def floats_of_integers(array: np.ndarray) -> np.ndarray:
    """Integers as floats of 64 bits; others unchanged."""
    return array.astype(np.float64) if array.dtype.kind in "iu" or array.dtype.name in WIDTHS else array


def wide_integers(array: np.ndarray) -> np.ndarray:
    """Integers of 2 and 4 bits as those of 32; others unchanged."""
    return array.astype(np.int32) if array.dtype.name in WIDTHS else array


def substituted(real: bool = False, **functions: Callable[..., Any]) -> Callable[[str], Any]:
    """The value of a call where these functions, found by their last names, stand in for those of the module.

    They get NumPy arrays in 64 bits. If `real`, they get the real parts of complex arrays and numbers.
    """

    def array(values: Any, dtype: str) -> np.ndarray:
        made = widened(values, dtype)
        made = made if made.dtype.kind in "biufc" else as_floats(values, dtype)
        return made.real if real else made

    def says(text: str) -> Any:
        room = _Room(functions)
        scope = {"m": room, "A": array, "array": array, "np": np, "nan": np.nan, "inf": np.inf}
        return eval(text, scope | ({"complex": lambda real, imag=0.0: real} if real else {}))

    return says


class _Room:
    """A module with these functions; it is each of its submodules, and a module may have the name of a function."""

    def __init__(self, functions: dict[str, Callable[..., Any]], called: Callable[..., Any] | None = None) -> None:
        self._functions, self._called = functions, called

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._called, name, None)  # a method of a ufunc
        return own if callable(own) else _Room(self._functions, self._functions.get(name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._called is None:
            raise AttributeError("no function stands in for one that is called")
        return self._called(*args, **kwargs)


def arrays_of(text: str) -> list[np.ndarray]:
    """The arrays and numbers that a call is given, as NumPy arrays."""
    made: list[np.ndarray] = []

    class Sink:
        def __getattr__(self, name: str) -> Any:
            return self

        def __getitem__(self, index: Any) -> Any:
            return self

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            made.extend(np.asarray(x) for x in (*args, *kwargs.values()) if isinstance(x, int | float | complex))
            return self

    def array(values: Any, dtype: str) -> Any:
        made.append(np.array(values, dtype))
        return Sink()

    eval(text, {"m": Sink(), "A": array, "array": array, "np": np, "nan": np.nan, "inf": np.inf})
    return made


# Conditions of single functions.


def lists_its_arrays(text: str, found: Difference) -> bool:
    """primax lists arrays of its own."""
    return all(isinstance(array, px.Array) for array in primax_says(text))


def are_arguments(text: str, found: Difference) -> bool:
    """primax's elements are elements of the arguments; `hankel` fills a matrix with zeros."""
    if found.mine is None:
        return False
    given = np.concatenate([array.astype(found.mine.dtype).ravel() for array in arrays_of(text)])
    given = np.append(given, found.mine.dtype.type(0)) if ".hankel(" in text else given
    mine = found.mine[found.where()]
    wanted, have = wide(given), wide(mine)

    def parts(x: np.ndarray) -> list[np.ndarray]:
        return [x.real, x.imag] if x.dtype.kind == "c" else [x]

    pairs = zip(parts(have), parts(wanted), strict=True)
    same = [(a[:, None] == b) | (np.isnan(a)[:, None] & np.isnan(b)) for a, b in pairs]
    return bool(np.all(same, axis=0).any(axis=-1).all())


def are_positions(text: str, found: Difference) -> bool:
    """primax's elements are positions in one of the vectors of the call, or the length of one."""
    mine, _ = elements(found)
    size = max((array.size for array in arrays_of(text) if array.ndim == 1), default=0)
    return bool(((mine >= 0) & (mine <= size)).all())


def not_sorted(text: str) -> bool:
    """Whether the first array of a call is not sorted, or `sorter` is given, which may name elements beyond the end."""
    first = arrays_of(text)[0]
    return "sorter=" in text or not np.array_equal(np.sort(first), first, equal_nan=first.dtype.kind in "fc")


def is_permutation(text: str, found: Difference) -> bool:
    """primax's values are 0, 1, ... along the last axis."""
    mine = found.mine
    return mine is not None and bool((mine == np.broadcast_to(np.arange(mine.shape[-1]), mine.shape)).all())


def is_fill_value(text: str, found: Difference) -> bool:
    """primax's elements are the `fill_value` of the call."""
    filled = re.search(r"fill_value=(.*)\)$", text)
    mine, _ = elements(found)
    value = substituted()(re.sub(r"(, \w+=.*)", "", filled[1])) if filled else None
    return value is not None and bool(np.isin(mine, np.asarray(value).astype(np.int32)).all())


def sum_of_powers(text: str, found: Difference) -> bool:
    """Complex results of `logaddexp` and its relatives are logarithms of sums of numbers of the right sizes.

    The real part is at most that for numbers without angles, which is infinite for the same ones; the imaginary part
    is an angle, between -pi and pi, in units of log(2) for `logaddexp2`.
    """

    def sums(x: np.ndarray, axis: int = 0, reverse: bool = False) -> np.ndarray:
        flipped = np.flip(x, axis) if reverse else x
        out = np.logaddexp.accumulate(flipped, axis)
        return np.flip(out, axis) if reverse else out

    says = substituted(
        real=True,
        softplus=lambda x: np.logaddexp(x, 0.0),
        log_sigmoid=lambda x: np.logaddexp(-x, 0.0),
        cumlogsumexp=sums,
        logaddexp=np.logaddexp,
        logaddexp2=np.logaddexp2,
    )
    most = np.asarray(at_leaf(says(text), found.at))
    if found.mine is None or most.shape != found.mine.shape:
        return False
    sign = -1 if "log_sigmoid" in text else 1
    mine = sign * wide(found.mine)[found.where()].astype(complex)
    most = most.astype(found.mine.real.dtype).astype(float)[found.where()]
    bound = tolerance(found.mine.dtype) * np.maximum(1.0, np.abs(most))
    sizes = np.where(np.isinf(most), mine.real == most, mine.real <= most + bound)
    angles = np.abs(mine.imag) <= 1.001 * np.pi / np.log(2.0)
    return bool((sizes & (angles | ~np.isfinite(mine.imag))).all())


def is_polar_factor(text: str, found: Difference) -> bool:
    """The unitary factor of `qdwh(A, eps=...)` is as exact as `eps` says; from 1 on only its size is known."""
    u = found.mine
    if u is None or found.at != (0,):
        return False

    def away(a: np.ndarray, eps: float, **_: Any) -> bool:
        if eps >= 1:
            return bool(np.isnan(u).all() or np.linalg.norm(u, 2) <= 1.01)
        return bool(np.abs(u - scipy.linalg.polar(a)[0]).max() <= eps)

    return bool(substituted(qdwh=away)(text))


def solves_sylvester(text: str, found: Difference) -> bool:
    """The solution of primax is NaN, or it solves the equation but for rounding."""

    def residual(a: Any, b: Any, c: Any, *_: Any, **__: Any) -> bool:
        x = found.mine
        assert x is not None
        if not np.isfinite(x).all():
            return bool(np.isnan(x).any())
        x, a, b = x.astype(complex), np.asarray(a, complex), np.asarray(b, complex)
        scale = (np.abs(a).max() + np.abs(b).max()) * np.abs(x).max() + np.abs(c).max()
        return bool(np.abs(a @ x + x @ b - c).max() <= 1e-3 * scale)

    return found.mine is not None and bool(substituted(solve_sylvester=residual)(text))


def errs_little_more(times: float) -> Right:
    """primax is at most so many times farther from jax's value in 64 bits than jax is."""

    def right(text: str, found: Difference) -> bool:
        if found.mine is None or found.other is None:
            return False
        reference = wide(np.asarray(at_leaf(wide_jax_says(text), found.at)))
        mine, other = (np.abs(wide(x) - reference) for x in (found.mine, found.other))
        return bool(mine.max() <= times * max(other.max(), tolerance(found.mine.dtype) * np.abs(reference).max()))

    return right


def is_exponential_of_some_squarings(text: str, found: Difference) -> bool:
    """primax's value is what `expm(A, upper_triangular=True)` gives for some number of squarings."""

    def approximations(a: Any, **_: Any) -> list[np.ndarray]:
        a = np.asarray(a, complex)
        made = []
        for squarings in range(17):
            x = a / 2.0**squarings
            for order in (3, 5, 7, 9, 13):
                factors = [1.0]
                for k in range(order):
                    factors.append(factors[-1] * (order - k) / ((2 * order - k) * (k + 1)))
                p = sum(c * np.linalg.matrix_power(x, k) for k, c in enumerate(factors))
                q = sum(c * np.linalg.matrix_power(-x, k) for k, c in enumerate(factors))
                with np.errstate(all="ignore"):
                    r = np.linalg.solve(np.triu(q), p)
                    made.append(np.linalg.matrix_power(r, 2**squarings))
        return made

    if found.mine is None:
        return False
    bound = 100 * tolerance(found.mine.dtype)
    mine = wide(found.mine)
    with np.errstate(all="ignore"):
        found_by = [
            (np.abs(mine - r) <= bound * np.abs(r).max((-2, -1), keepdims=True)).all((-2, -1))
            for r in substituted(expm=approximations)(text)
        ]
    return bool(np.any(found_by, axis=0).all())


def is_nearest_code(text: str, found: Difference) -> bool:
    """The codes of `vq` are those of nearest points, but for rounding to the dtype of the arrays."""

    def distances(obs: Any, codes: Any, *_: Any, **__: Any) -> np.ndarray:
        obs, codes = np.asarray(obs, float), np.asarray(codes, float)
        obs, codes = (x[:, None] if x.ndim == 1 else x for x in (obs, codes))
        return np.linalg.norm(obs[:, None] - codes[None], axis=-1)

    if found.mine is None or found.at != (0,):
        return False
    away = substituted(vq=distances)(text)
    chosen = np.take_along_axis(away, found.mine.astype(int)[:, None], 1)[:, 0]
    return bool((chosen <= away.min(1) + 0.3 * np.maximum(1.0, away.max(1))).all())


def costs_no_more(text: str, found: Difference) -> bool:
    """The order of contractions that primax chooses costs at most as much as that of jax."""

    def orders(text: str) -> list[Any]:
        return [evaluate(text, module, array_of(module))[0] for module in (px, jax)]

    def costs(subscripts: str, *operands: Any, **_: Any) -> bool:
        mine, other = (cost(subscripts, operands, path) for path in orders(text))
        return mine <= other

    def cost(subscripts: str, operands: Any, path: Any) -> float:
        steps = [step if isinstance(step, tuple) else tuple(step) for step in path if not isinstance(step, str)]
        said = np.einsum_path(subscripts, *operands, optimize=["einsum_path", *steps])[1]
        return float(re.search(r"Optimized FLOP count:\s*(\S+)", said)[1])  # type: ignore[index]

    return bool(substituted(einsum_path=costs)(text))


def has_own_samples(text: str) -> Any:
    """jax's samples of `weibull_min` where the shape is given."""

    def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = float) -> Any:
        shape = np.broadcast_shapes(np.shape(scale), np.shape(concentration), tuple(shape or ()))
        return jax.random.weibull_min(key, np.asarray(scale, float), np.asarray(concentration, float), shape, dtype)

    room = SimpleNamespace(key=jax.random.key, PRNGKey=jax.random.PRNGKey, weibull_min=weibull_min)
    m = SimpleNamespace(random=room, numpy=jax.numpy)
    scope = {"m": m, "A": array_of(jax), "array": np.array, "np": np, "nan": np.nan, "inf": np.inf}
    return eval(text, scope)


def beta(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The beta function, with its limit at infinity."""
    return np.where(np.isposinf(a) & np.isposinf(b), 0.0, scipy.special.beta(a, b))


def betaln(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The logarithm of the size of the beta function, with its limit at infinity."""
    return np.where(np.isposinf(a) & np.isposinf(b), -np.inf, scipy.special.betaln(a, b))


def scaled_dot(
    lhs: np.ndarray, rhs: np.ndarray, lhs_scale: Any = None, rhs_scale: Any = None, preferred_element_type: Any = None
) -> np.ndarray:
    """The product of two matrices, or stacks of them, with a scale for each block."""

    def scaled(x: np.ndarray, scale: Any, axis: int) -> np.ndarray:
        if scale is None:
            return x
        return x * np.repeat(np.asarray(scale, float), x.shape[axis] // np.shape(scale)[axis], axis)

    return scaled(np.asarray(lhs, float), lhs_scale, -1) @ scaled(np.asarray(rhs, float), rhs_scale, -2)


def hyp2f1_of_polynomials(a: Any, b: Any, c: Any, x: Any) -> np.ndarray:
    """The hypergeometric function where its series ends: (1 - x)^-b for a = c, and polynomials."""

    def one(a: float, b: float, c: float, x: float) -> float:
        ends = [-p for p in (a, b) if p <= 0 and p == int(p)]
        if ends:
            term = total = 1.0
            for k in range(int(min(ends))):
                below = (c + k) * (k + 1)
                if below == 0:
                    break
                term *= (a + k) * (b + k) / below * x
                total += term
            return total
        if c in (a, b):
            return float((1 - x) ** -(b if a == c else a))
        return float(scipy.special.hyp2f1(a, b, c, x))

    return np.vectorize(one, otypes=[float])(a, b, c, x)


def dirichlet_logpdf(x: Any, alpha: Any) -> np.ndarray:
    """The formula of the density, also at its ends."""
    x, alpha = np.asarray(x, float), np.asarray(alpha, float)
    x = np.concatenate([x, 1 - x.sum(0, keepdims=True)]) if x.shape[0] + 1 == alpha.shape[0] else x
    alpha = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    norm = scipy.special.gammaln(alpha).sum(0) - scipy.special.gammaln(alpha.sum(0))
    return scipy.special.xlogy(alpha - 1, x).sum(0) - norm


def multinomial_logpmf(x: Any, n: Any, p: Any) -> np.ndarray:
    """The formula of the probability for each vector of counts."""
    x, n, p = (np.asarray(part, float) for part in (x, n, p))
    terms = scipy.special.xlogy(x, p) - scipy.special.gammaln(x + 1)
    return np.where(x.sum(-1) == n, scipy.special.gammaln(n + 1) + terms.sum(-1), -np.inf)


def igamma_grad_a(a: Any, x: Any) -> np.ndarray:
    """The derivative of the incomplete gamma function at a = 0, and at infinite a and x."""
    return np.where(np.isinf(a) | np.isinf(x), 0.0, -scipy.special.exp1(x))


def kaiser(M: int, beta: Any) -> np.ndarray:
    """A window for a shape, or for several that broadcast with it."""
    n = 2 * np.arange(int(M)) / max(int(M) - 1, 1) - 1
    beta = np.abs(np.asarray(beta, float))
    x = beta * np.sqrt(1 - n * n) if int(M) > 1 else beta + 0 * n
    return scipy.special.ive(0, x) / scipy.special.ive(0, beta) * np.exp(x - beta)


def gumbel_r_logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> np.ndarray:
    """The logarithm of the survival function."""
    z = (np.asarray(x, float) - loc) / scale
    with np.errstate(all="ignore"):
        return np.where(z > 40, -z, np.log(-np.expm1(-np.exp(-z))))


def geomspace_ends(text: str, found: Difference) -> bool:
    """The first element and the last are the given ends; those between are so in size, too, or NaN if an end is 0."""

    def good(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> bool:
        mine = found.mine
        assert mine is not None
        with np.errstate(all="ignore"):
            out = np.moveaxis(wide(mine), axis, 0)
            differs = np.moveaxis(found.where(), axis, 0)
            ends = [np.asarray(end).astype(mine.dtype) for end in (start, stop)]
            first, last = (wide(end) for end in ends)
        sizes = np.abs(out)
        least, most = np.minimum(np.abs(first), np.abs(last)), np.maximum(np.abs(first), np.abs(last))
        slack = 1 + 10 * tolerance(mine.dtype)
        inside = ((sizes <= most * slack) & (sizes * slack >= least)) | (np.isnan(out) & (least == 0))
        given = [(out == end) | (np.isnan(out) & np.isnan(end)) for end in (first, last)]
        same = given[0][0].all() and (not endpoint or len(out) < 2 or given[1][-1].all())
        return bool(same and (inside | given[0] | given[1] | ~differs).all())

    return found.mine is not None and bool(substituted(geomspace=good)(text))


def between_numbers(text: str, found: Difference) -> bool:
    """primax's elements are between the least and the greatest element of the first array, or NaN."""
    mine, _ = elements(found)
    first = arrays_of(text)[0]
    if first.dtype.kind == "V":
        first = first.astype(float)
    numbers = first[~np.isnan(first)] if first.dtype.kind == "f" else first
    inside = (mine >= numbers.min(initial=np.inf)) & (mine <= numbers.max(initial=-np.inf))
    return bool((np.isnan(mine) | inside).all())


def clipped(text: str, found: Difference) -> bool:
    """primax's elements are those of jax in 64 bits, clipped to the numbers of the dtype."""
    if found.mine is None:
        return False
    limits = ml_dtypes.finfo(found.mine.dtype)
    wider = jax_of(lambda array: array.astype(np.float64) if kind_of(array.dtype.name) == "float" else array)
    low, high = float(limits.min), float(limits.max)
    return is_of(lambda text: np.clip(np.asarray(at_leaf(wider(text), found.at)), low, high))(text, found)


def prints_elements(text: str, found: Difference) -> bool:
    """primax prints what NumPy prints for an array of the dtype, but for the name of the class and spaces."""

    def plain(shown: str) -> str:
        shown = re.sub(r"\\n|['\"\s]", "", shown)
        shown = re.sub(r"^(Array|array)\(|(,shape=\([\d,]*\))?,dtype=[^)]*\)|\)$", "", shown)
        return re.sub(r"\.(?=[],]|$)|\.?0+(?=e|[],]|$)", "", shown)

    said = re.fullmatch(r"primax: (.*), jax: .*", found.message)
    return said is not None and plain(said[1]) == plain(repr(evaluate(text, SimpleNamespace(numpy=np), np.array)))


def is_conjugate(mine: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Values have opposite imaginary parts."""
    return np.abs(mine - np.conj(other)) <= 1e-5 * np.maximum(1.0, np.abs(other))
