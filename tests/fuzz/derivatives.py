"""The kind of fuzzing that compares derivatives in float32 with those in float64 at the same numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import primax as px
from fuzz.frame import Case, Finding, Kind
from primax.core._jaxlib import known_options

HEADER = "import numpy as np, primax as px"
# Without the options of the tests that let XLA compute less precisely.
QUICK = known_options({"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": True})
ELEMENTS = """
numpy: sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p sqrt
  cbrt square reciprocal absolute sinc i0 logaddexp logaddexp2 hypot arctan2 power divide multiply subtract maximum fmod
  remainder float_power copysign deg2rad nan_to_num
lax: logistic rsqrt erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e igamma igammac pow tanh expm1
nn: relu sigmoid softplus silu log_sigmoid elu celu selu gelu mish soft_sign squareplus hard_tanh leaky_relu log1mexp
scipy.special: gammaln psi erf erfc erfinv expit logit log_ndtr ndtr ndtri i0 i0e i1 i1e xlogy xlog1py entr rel_entr
  kl_div spence betaln expi log1p exprel sinc digamma gamma
scipy.stats: norm.logpdf norm.logcdf norm.cdf norm.logsf norm.sf norm.ppf cauchy.logpdf laplace.logpdf logistic.logpdf
  logistic.logcdf t.logpdf gamma.logpdf chi2.logpdf expon.logpdf poisson.logpmf
"""
STANDARDIZED = "px.nn.standardize($)[0]"
AVERAGE = "px.numpy.average($, weights=px.numpy.exp($))"
VECTORS = [
    "px.nn.softmax($)[0]",
    "px.nn.log_softmax($)[0]",
    "px.nn.logsumexp($)",
    "px.nn.logmeanexp($)",
    "px.numpy.linalg.norm($)",
    "px.numpy.linalg.norm($, 3)",
    "px.numpy.linalg.norm($, 1)",
    "px.numpy.var($)",
    "px.numpy.std($)",
    "px.numpy.prod($)",
    "px.numpy.mean($ * $)",
    "px.numpy.cumprod($)[-1]",
    "px.lax.cumlogsumexp($)[-1]",
    "px.numpy.max($)",
    "px.numpy.sort($)[1]",
    "px.numpy.median($)",
    "px.numpy.quantile($, 0.3)",
    STANDARDIZED,
    AVERAGE,
    "px.nn.logsumexp($, b=px.numpy.arange(3.0))",
    "px.numpy.interp($[0], px.numpy.arange(3.0), $)",
    "px.numpy.convolve($, $)[2]",
    "px.numpy.trapezoid($, $ * $)",
    "px.numpy.polyval($, $[1])",
]
ARGUMENTS = {"igamma": 2, "igammac": 2, "pow": 2, "xlogy": 2, "xlog1py": 2, "rel_entr": 2, "kl_div": 2, "betaln": 2}
ARGUMENTS |= dict.fromkeys("logaddexp logaddexp2 hypot arctan2 power divide multiply subtract maximum fmod".split(), 2)
ARGUMENTS |= dict.fromkeys("remainder float_power copysign t.logpdf gamma.logpdf chi2.logpdf poisson.logpmf".split(), 2)
# What a function or its derivative computes on the way by its definition. Where the largest of these numbers is out of
# the range of float32, derivatives are not compared.
TERMS = {
    "px.numpy.linalg.norm($)": "$ * $",
    "px.numpy.var($)": "$ * $",
    "px.numpy.std($)": "$ * $",
    STANDARDIZED: "$ * $ * $",
    AVERAGE: "px.numpy.exp($) * px.numpy.maximum(1, abs($))",
    "px.numpy.prod($)": "$ * px.numpy.roll($, 1)",
    "px.numpy.cumprod($)[-1]": "$ * px.numpy.roll($, 1)",
    "px.numpy.trapezoid($, $ * $)": "$ * $ * $",
    "px.numpy.polyval($, $[1])": "$[1] * $",
}
# The same for second derivatives.
TERMS_OF_SECOND = dict.fromkeys(
    [f"px.{name}(v[0], v[1])" for name in ("numpy.power", "numpy.float_power", "lax.pow")],
    "px.numpy.float_power(abs(v[0]), v[1] - 2)",
) | {AVERAGE: "px.numpy.exp($) ** 2"}
# Derivatives of these orders are sums and products of probabilities, of which those near 1 are as accurate as eps.
OF_PROBABILITIES = {
    "px.nn.softmax($)[0]": (1, 2),
    "px.nn.log_softmax($)[0]": (1, 2),
    "px.nn.logsumexp($)": (2,),
    "px.nn.logmeanexp($)": (2,),
    "px.nn.logsumexp($, b=px.numpy.arange(3.0))": (2,),
    "px.lax.cumlogsumexp($)[-1]": (2,),
    AVERAGE: (1, 2),
}
FIRST_ONLY = {"px.lax.igamma", "px.lax.igammac"}  # their second derivatives by `a` are refused, as documented
POINTS = 24
# The loss of digits that is a finding, relative to the derivative, and the changes of the arguments that excuse it.
LOSS, ULPS = 2e-3, 4
EPS = float(np.finfo(np.float32).eps)
LARGEST = float(np.finfo(np.float32).max) / 8


def functions() -> list[tuple[str, int]]:
    """The names of functions of numbers, and how many arguments they take."""
    out, module = [], ""
    for word in ELEMENTS.split():
        if word.endswith(":"):
            module = word[:-1]
        elif _exists(f"{module}.{word}"):
            out.append((f"px.{module}.{word}", ARGUMENTS.get(word, 1)))
    return out


def _exists(path: str) -> bool:
    try:
        eval(f"px.{path}", {"px": px})
    except AttributeError:
        return False
    return True


@dataclass(frozen=True)
class DerivativeCase(Case):
    """A function of a vector of numbers, the order of its derivative, and points, one in each row."""

    text: str
    order: int
    points: tuple[tuple[float, ...], ...]


def number(rng: random.Random) -> float:
    """A number of float32: ordinary, huge, tiny, whole or a signed zero."""
    sort = rng.random()
    sign = rng.choice([-1, 1])
    if sort < 0.4:
        value = rng.gauss(0, 2)
    elif sort < 0.55:
        value = sign * 10 ** rng.uniform(0, 3)
    elif sort < 0.7:
        value = sign * 10 ** rng.uniform(-8, 0)
    elif sort < 0.85:
        value = sign * 10 ** rng.uniform(-36, 36)
    elif sort < 0.93:
        value = float(rng.choice([0, 1, 2, 3, 5, 10, 100]) * sign)
    else:
        value = rng.choice([0.0, -0.0, 1.0, 0.5, -0.5, 1 - 2**-24, 1 + 2**-23, -1 + 2**-24])
    return float(np.float32(value))


class Derivatives(Kind):
    """First and second derivatives, at the same numbers in both precisions.

    A derivative may be as far off as the one in float64 changes where the argument changes by a few units in the last
    place of float32. One by elements of a vector may also be off by a few units in the last place of the largest, as
    both are sums of the same terms. Derivatives beyond the range of float32, or below its normal numbers, are not
    compared, nor are those where the value of the function, its first derivatives or `TERMS` are beyond the range, nor
    Hessians with elements beyond it: these are multiplied by the zeros of unit vectors.
    """

    name = "derivatives"
    word_sizes = (64,)
    lifetime = 150
    share = 0.5

    def cases(self, rng: random.Random, only: str) -> Iterator[DerivativeCase]:
        known = functions()
        while True:
            order = rng.choice([1, 1, 2])
            if rng.random() < 0.8:
                path, count = rng.choice(known)
                text = f"{path}({', '.join(f'v[{i}]' for i in range(count))})"
            else:
                text, count = rng.choice(VECTORS).replace("$", "v"), 3
                path = text.split("(")[0]
            if only not in path or (order == 2 and path in FIRST_ONLY):
                continue
            points = [[number(rng) for _ in range(count)] for _ in range(POINTS)]
            for point in points[: POINTS // 4]:  # repeated values
                point[1:] = [point[0]] * (count - 1)
            rows = tuple(map(tuple, points))
            yield DerivativeCase(f"{path}, order {order}", program(text, order, rows[:1]), text, order, rows)

    def run(self, case: DerivativeCase) -> Finding | None:
        points = np.array(case.points, np.float32)
        derivative = derivative_of(case.text, case.order)
        exact_points = points.astype(np.float64)
        signs = np.random.default_rng(0).choice([-1, 1], points.shape)
        moved = [exact_points * (1 + k * 2.0**-24 * signs) for k in (0, -ULPS, -1, 1, ULPS)]
        narrow = computed(derivative, points)
        exact, *nearby = np.split(computed(derivative, np.concatenate(moved)), len(moved))
        self.reached["compared"] += len(points)
        if lost(narrow, exact, nearby) is None:
            return None
        before = lower(case, exact_points)
        wrong = lost(
            narrow, exact, nearby, rounding(case, exact_points, exact, before), known(case, exact_points, exact, before)
        )
        if wrong is None:
            return None
        row, at = wrong
        point = case.points[row]
        message = (
            f"the derivative of {case.text} at {point} is {narrow[row][at]} in float32, {exact[row][at]} in float64"
        )
        return Finding(case.name, message, program(case.text, case.order, (point,)), "value")

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        return [f"derivatives: {reached['compared']} points compared"]


def program(text: str, order: int, rows: tuple[tuple[float, ...], ...]) -> str:
    d = "px.grad(f)" if order == 1 else "px.hessian(f)"
    lines = [HEADER, "px.config.update('enable_x64', True)", f"f = lambda v: {text}", f"x = np.array({list(rows[0])})"]
    return "\n".join([*lines, f"print({d}(np.float32(x)), {d}(x))"])


def derivative_of(text: str, order: int) -> Callable[..., Any]:
    f = eval(f"lambda v: {text}", {"px": px})
    return px.vmap(px.grad(f) if order == 1 else px.hessian(f))


def computed(derivative: Callable[..., Any], points: Any) -> Any:
    """The derivatives at points, one in each row, as float64."""
    compiled = px.jit(derivative).lower(points).compile(QUICK)
    return np.asarray(compiled(points)).astype(np.float64).reshape(len(points), -1)


def template(case: DerivativeCase) -> str:
    """The text in `VECTORS` that a case was made of, or its own."""
    return next((vector for vector in VECTORS if vector.replace("$", "v") == case.text), case.text)


def lower(case: DerivativeCase, points: Any) -> list[Any]:
    """The largest value of a function, and of its first derivatives for second ones, at each point, in a column."""
    f = eval(f"lambda v: {case.text}", {"px": px})
    return [largest(computed(px.vmap(g), points)) for g in ([f] if case.order == 1 else [f, px.grad(f)])]


def rounding(case: DerivativeCase, points: Any, exact: Any, before: list[Any]) -> Any:
    """By how much derivatives by elements of a vector may be off in any case.

    That is what a few units in the last places of the largest derivative make, and for second derivatives those in the
    first ones where the largest argument changes as a whole. The same holds for the value of `standardize`, which does
    not depend on the unit of its arguments. In `average` probabilities are multiplied by the arguments.
    """
    text = template(case)
    if "$" not in text:
        return 0.0
    size, argument = largest(exact), largest(points)
    if case.order == 2 or text == STANDARDIZED:
        size = size + before[-1] / np.maximum(argument, np.finfo(np.float32).tiny)
    unit = np.maximum(argument, 1) if text == AVERAGE else 1.0
    return 16 * EPS * size + 4 * EPS * unit * (case.order in OF_PROBABILITIES.get(text, ()))


def known(case: DerivativeCase, points: Any, exact: Any, before: list[Any]) -> Any:
    """At which points all that leads to a derivative is in the range of float32, in a column."""
    sizes = [*before, largest(exact)] if case.order == 2 else before
    out = np.all([size < LARGEST for size in sizes], axis=0)
    text = template(case)
    second = TERMS_OF_SECOND.get(text) if case.order == 2 else None
    for terms in (TERMS.get(text), second):
        if terms is not None:
            f = eval(f"lambda v: {terms.replace('$', 'v')}", {"px": px})
            size = largest(computed(px.vmap(f), points))
            out &= (size == 0) | ((size > np.finfo(np.float32).tiny / EPS) & (size < LARGEST))
    return out


def largest(values: Any) -> Any:
    """The largest size in each row, infinite for NaN, in a column."""
    return np.max(np.where(np.isnan(values), np.inf, np.abs(values)), axis=1, keepdims=True)


def lost(narrow: Any, exact: Any, nearby: list[Any], excused: Any = 0.0, judged: Any = True) -> tuple[int, int] | None:
    """The place of the derivative in float32 that has lost the most digits, if one has lost too many.

    Those that are not `judged` are left out, and errors as large as `excused` are none.
    """
    spread = np.zeros(exact.shape)
    range_ = np.finfo(np.float32)
    with np.errstate(all="ignore"):
        size = np.abs(exact)
        judged = judged & np.isfinite(exact) & (size < LARGEST) & ((size > range_.tiny * 8) | (exact == 0))
        for other in nearby:
            judged &= np.isfinite(other) & (np.abs(other) < LARGEST)
            spread = np.maximum(spread, np.abs(other - exact))
        loss = np.abs(narrow - exact) - 8 * spread - 8 * range_.tiny - excused
        loss = np.where(np.isfinite(narrow), loss / np.where(size > 0, size, 1), np.inf)
        loss = np.where(judged, loss, 0)
    if not loss.size or loss.max() <= LOSS:
        return None
    row, at = np.unravel_index(np.argmax(loss), loss.shape)
    return int(row), int(at)
