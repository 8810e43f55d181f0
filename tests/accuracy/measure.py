"""Compares a function in one dtype with the exact one, at all points, and with jax, NumPy and SciPy beside it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from accuracy import elementary, points, special
from accuracy.exact import Derivatives, limit
from accuracy.formats import FORMATS, WRONG, Format, ulps
from accuracy.functions import Function, Limit

FUNCTIONS = elementary.FUNCTIONS + special.FUNCTIONS

# Bits of mpmath, and the step of its differences, so that 1 + x is exact for all x in the range.
DIGITS = {"float16": (600, 60), "bfloat16": (1800, 100), "float32": (1800, 100), "float64": (6000, 200)}
DIGITS |= {"complex64": DIGITS["float32"], "complex128": DIGITS["float64"]}
SPECIAL_DIGITS = {"float16": (500, 60), "bfloat16": (700, 60), "float32": (700, 60), "float64": (2600, 60)}


@dataclasses.dataclass(frozen=True)
class Worst:
    """The largest error, in ulp, and where it is."""

    ulp: float = 0.0
    point: tuple[complex, ...] = ()
    computed: complex = 0.0
    exact: complex = 0.0
    part: str = ""


@dataclasses.dataclass
class Row:
    """What one library does with one function in one dtype: for each order the largest error.

    `within` has the largest error of each of the function's limits.
    """

    label: str
    dtype: str
    library: str
    worst: dict[int, Worst]
    within: dict[tuple[str, int], Worst] = dataclasses.field(default_factory=dict)
    judged: dict[int, int] = dataclasses.field(default_factory=dict)


def _attribute(root: str, path: str) -> Callable[..., object] | None:
    module, _, name = path.rpartition(".")
    if not name:
        return None
    try:
        return getattr(importlib.import_module(f"{root}.{module}" if root else module), name, None)
    except ImportError:
        return None


def _outputs(module, f: Callable[..., object], arity: int, orders: int, is_complex: bool) -> Callable[..., list]:
    """A function of arrays that returns its value, its partial derivatives in both modes, and the second ones."""

    def along(function, xs, i):
        """The derivative along one argument; the others are constants, whose zero tangents could meet an infinity."""
        x = xs[i]
        return module.jvp(lambda x: function(*xs[:i], x, *xs[i + 1 :]), (x,), (module.numpy.ones_like(x),))[1]

    def back(function, xs):
        out, pull = module.vjp(function, *xs)
        return pull(module.numpy.ones_like(out))

    def backward(*xs):
        return back(f, xs)

    def outputs(*xs):
        upper = list(itertools.combinations_with_replacement(range(arity), 2))
        results = [[f(*xs)]]
        if orders >= 1:
            results += [[along(f, xs, i) for i in range(arity)], list(backward(*xs))]
        if orders >= 2:
            rows = [along(backward, xs, i) for i in range(arity)]
            columns = [back(lambda *xs, i=i: backward(*xs)[i], xs) for i in range(arity)]
            results += [[rows[i][j] for i, j in upper], [columns[i][j] for i, j in upper]]
        return results

    return module.jit(outputs)


PARTS = ((0, "value"), (1, "forward"), (1, "reverse"), (2, "forward of reverse"), (2, "reverse of reverse"))


def computed(root: str, function: Function, form: Format, at: Sequence[tuple[complex, ...]]) -> list[list] | None:
    """What a library computes: for each of `PARTS` an array of numbers for each partial derivative.

    None where the library doesn't have the function, or not for the dtype.
    """
    arrays = [
        np.array(column, dtype=np.complex128 if form.is_complex else np.float64) for column in zip(*at, strict=True)
    ]
    with np.errstate(all="ignore"):
        arrays = [a.astype(form.dtype) for a in arrays]
    wide = np.complex128 if form.is_complex else np.float64
    parameters = dict(function.parameters)
    if root == "numpy":
        f = _attribute("", function.reference)
        if f is None or form.name == "bfloat16" or (form.name == "float16" and function.special):
            return None
        with np.errstate(all="ignore"):
            try:
                out = f(*function.before, *arrays, **parameters)
            except TypeError:
                return None
        return [[np.asarray(out, wide)]] if np.asarray(out).dtype == form.part_dtype or form.is_complex else None
    f = _attribute(root, function.name)
    if f is None:
        return None
    module = importlib.import_module(root)

    def called(*xs):
        return f(*function.before, *xs, **parameters)

    wide_enough = module.enable_x64() if form.name in ("float64", "complex128") else contextlib.nullcontext()
    with wide_enough:
        try:
            out = _outputs(module, called, function.arity, function.orders, form.is_complex)(*arrays)
        except (TypeError, ValueError, NotImplementedError):
            if root == "primax":
                raise
            return None
    return [[np.asarray(a).astype(wide) for a in part] for part in out]


def exact(function: Function, form: Format, at: Sequence[tuple[complex, ...]]) -> list:
    """For each point a list of the value, the gradient and the second derivatives; None where not known."""
    digits, step = SPECIAL_DIGITS[form.name] if function.special else DIGITS[form.name]
    singular = function.singular if function.singular is not None else function.landmarks
    smooth = function.singular is not None
    machine = Derivatives(function.exact, singular, digits, step, form.precision, smooth)
    limits = (
        {s: limit(function.exact, s, 2000 if function.special else 3000) for s in (1, -1)}
        if function.arity == 1
        else {}
    )
    results = []
    for point in at:
        if not all(_finite(x) for x in point):
            known = limits.get(1 if point[0] == math.inf else -1) if point[0] in (math.inf, -math.inf) else None
            results.append([known if known is None else [known]] + [None] * function.orders)
        else:
            results.append(machine.at(point, function.orders))
    return results


def _finite(x: complex) -> bool:
    return math.isfinite(x.real) and math.isfinite(x.imag)


def at_points(function: Function, form: Format, step: int, each: int) -> list[tuple[complex, ...]]:
    if function.arity == 1:
        found = points.unary(form, function.landmarks[0], step, each)
    else:
        found = points.several(form, function.landmarks, step, each)
    rounded = [tuple(x if form.is_complex else form.rounded(x) for x in point) for point in found]
    if function.domain is None:
        return rounded
    return [p for p in rounded if all(map(_finite, p)) and function.domain(*p)]


def measure(
    label: str, dtype: str, *, step: int = 1, each: int = 2, libraries: Sequence[str] = ("primax", "jax", "numpy")
) -> list[Row]:
    """The rows of a function, chosen by its label and dtype, for each library that has it."""
    function = next(f for f in FUNCTIONS if f.label == label and dtype in f.dtypes)
    form = FORMATS[dtype]
    at = at_points(function, form, step, each)
    true = exact(function, form, at)
    columns = [np.array(c, np.complex128 if form.is_complex else np.float64) for c in zip(*at, strict=True)]
    with np.errstate(all="ignore"):
        inside = [(x, np.broadcast_to(x.where(*columns), len(at))) for x in function.limits if dtype in x.dtypes]
    rows = []
    for library in [x for x in libraries if x not in function.without]:
        out = computed(library, function, form, at)
        if out is not None:
            rows.append(_row(function, form, library, at, true, out, inside))
    return rows


def numbered(call: tuple[int, str, str, dict]) -> tuple[int, list[Row]]:
    """`measure` for a pool of processes, whose results come in any order."""
    index, label, dtype, settings = call
    return index, measure(label, dtype, **settings)


def _row(function, form, library, at, true, out, inside: list[tuple[Limit, np.ndarray]]) -> Row:
    row = Row(function.label, form.name, library, {})
    names = [""] if function.arity == 1 else "xyz"[: function.arity]
    parts = {0: [""], 1: list(names), 2: ["".join(p) for p in itertools.combinations_with_replacement(names, 2)]}
    for (order, way), arrays in zip(PARTS, out, strict=False):
        worst = row.worst.setdefault(order, Worst())
        judged = 0
        for k, array in enumerate(arrays):
            for index, (point, known) in enumerate(zip(at, true, strict=True)):
                value = known[order][k] if known[order] is not None else None
                if value is None or (order and _leaves(form, known[0])):
                    continue
                judged += 1
                distance = _distance(form, array[index], value)
                for limited, where in inside:
                    if order in limited.orders and where[index]:
                        key = (limited.interval, order)
                        if distance > row.within.get(key, Worst()).ulp:
                            row.within[key] = Worst(
                                distance, point, array[index], _plain(value), f"{way} {parts[order][k]}"
                            )
                        break
                else:
                    if distance > worst.ulp:
                        worst = Worst(distance, point, array[index], _plain(value), f"{way} {parts[order][k]}".strip())
        row.worst[order] = worst
        row.judged[order] = row.judged.get(order, 0) + judged
    return row


def _leaves(form: Format, value: list | None) -> bool:
    """Whether the value itself is beyond the range: derivatives are then not judged."""
    if value is None or isinstance(value[0], float):
        return value is None
    return max(abs(value[0].real), abs(value[0].imag)) > form.largest


def _distance(form: Format, number: complex, value: object) -> float:
    if isinstance(value, float):  # a limit
        if math.isinf(value) or math.isinf(number.real):
            return 0.0 if number.real == value else WRONG
        return (
            WRONG
            if math.isnan(number.real)
            else abs(number.real - value) / max(abs(value), form.tiny) * 2 ** (form.precision - 1)
        )
    return ulps(form, complex(number) if form.is_complex else float(number), value)


def _plain(value: object) -> complex:
    try:
        return complex(value) if getattr(value, "imag", 0) else float(value.real if hasattr(value, "real") else value)
    except OverflowError:
        return math.inf
