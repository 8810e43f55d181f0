"""Arithmetic, exponential and trigonometric functions, and what networks are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from mpmath import mp, mpc, mpf

from accuracy.formats import FORMATS, Format
from accuracy.functions import ALL, REAL, Function, Limit


def _of(name: str, exact, *landmarks: float, **options) -> Function:
    options.setdefault("reference", name)
    return Function(name, exact, (landmarks,), **options)


def _two(name: str, exact, first: tuple = (), second: tuple = (), **options) -> Function:
    options.setdefault("reference", name)
    return Function(name, exact, (first, second), **options)


def _nn(name: str, exact, *landmarks: float, **options) -> Function:
    return Function("nn." + name, exact, (landmarks,), **options)


def _half(z):
    return z / 2


def _expm1(z):
    # By the half angle: nothing cancels at the precision that is used.
    return 2 * mp.sinh(z / 2) * mp.exp(z / 2)


def _log1p(z):
    return mp.log(1 + z)


def _logistic(z):
    return 1 / (1 + mp.exp(-z)) if z.real > 0 else mp.exp(z) / (1 + mp.exp(z))


def _softplus(x):
    return max(x, 0) + mp.log(1 + mp.exp(-abs(x)))


def _cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def _sinc(z):
    return mp.sin(mp.pi * z) / (mp.pi * z) if z != 0 else mpf(1)


def _asin(z):
    return -1j * mp.log(1j * z + mp.sqrt(1 - z) * mp.sqrt(1 + z)) if isinstance(z, mpc) else mp.asin(z)


def _acos(z):
    return mp.pi / 2 - _asin(z) if isinstance(z, mpc) else mp.acos(z)


def _asinh(z):
    return mp.log(z + mp.sqrt(1 + 1j * z) * mp.sqrt(1 - 1j * z)) if isinstance(z, mpc) else mp.asinh(z)


def _acosh(z):
    return mp.log(z + mp.sqrt(z - 1) * mp.sqrt(z + 1))


def _atan(z):
    return (mp.log(1 + 1j * z) - mp.log(1 - 1j * z)) / 2j if isinstance(z, mpc) else mp.atan(z)


def _atanh(z):
    return (mp.log(1 + z) - mp.log(1 - z)) / 2


def _power(x, y):
    if x == 0 and y < 0:
        raise ValueError("a pole")
    return mp.power(x, y)


def _remainder(x, y):
    if y == 0:
        raise ValueError("no remainder")
    return x - y * mp.floor(x / y)


def _gelu(x):
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_by_tanh(x):
    t = mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)
    return x / (1 + mp.exp(-2 * t))


def _elu(x, alpha=1):
    return x if x > 0 else alpha * _expm1(x)


_SELU_ALPHA, _SELU_SCALE = mpf("1.6732632423543772848170429916717"), mpf("1.0507009873554804934193349852946")


def _piecewise(*pieces):
    """A function made of pieces ``(upper end, formula)``; the last end is an infinity."""

    def function(x):
        return next(formula(x) for end, formula in pieces if x < end)

    return function


def _log1mexp(x):
    return mp.log(-_expm1(-x))


_OUT_OF_RANGE = "an intermediate result leaves the range, where XLA sets it to 0 or an infinity"
_CANCEL = "terms cancel beside a zero"


def by_format(interval: str, where: Callable[..., np.ndarray], *orders: int, reason: str = _OUT_OF_RANGE, **options):
    """A limit for each dtype, whose interval depends on the dtype: `where` has the format and the arguments."""

    def limit(form: Format) -> Limit:
        return Limit(interval, reason, lambda *xs: where(form, *xs), (form.name,), orders or (0, 1, 2), **options)

    return tuple(limit(FORMATS[dtype]) for dtype in ALL)


def _zeros(interval: str, width: float, *centers: float, order: int) -> Limit:
    """A limit beside zeros of a derivative, or, for order 0, of the function."""
    return Limit(
        interval,
        _CANCEL,
        lambda x: np.min(np.abs(np.subtract.outer(x, centers)), axis=-1) < width,
        orders=(order,),
    )


_OF_INVERSE_SQUARE = by_format(
    "x**4 within 2 binades of the end of the range, second derivative",
    lambda form, x: abs(x) >= 2.0 ** ((form.most - 2) / 4),
    2,
)
_EXP_NEAR_OVERFLOW = by_format(
    "exp(x) within a factor of 2 of overflow",
    lambda form, x: x > math.log(form.largest) - math.log(2),
    0,
    reason="XLA's exp near overflow",
    at_most=8,
)
_COMPLEX = ("complex64", "complex128")


def _of_complex(interval: str, reason: str, where: Callable[..., np.ndarray], at_most: float, *orders: int) -> Limit:
    return Limit(interval, reason, where, _COMPLEX, orders or (0, 1, 2), at_most)


_ADD_UP = "the errors of the functions of the parts add up"
_OF_COMPLEX_LOG1P = Limit(
    "abs(1 + z)**2 between 0.4 and 0.8",
    "XLA's log1p in double precision",
    lambda z: abs(abs(1 + z) ** 2 - 0.6) < 0.2,
    ("complex128",),
    (0,),
    128,
)
_COMPLEX_VALUE = _of_complex("complex numbers", _ADD_UP, lambda z: z == z, 8, 0)
_COMPLEX_SECOND = _of_complex("complex numbers, second derivative", _ADD_UP, lambda z: z == z, 24, 2)
_COMPLEX_DERIVATIVES = _of_complex("complex numbers, derivatives", _ADD_UP, lambda z: z == z, 24, 1, 2)
_OF_TANH = (
    *by_format(
        "exp(-2 abs(real(z))) within 4 binades of the smallest number, derivatives",
        lambda form, z: form.is_complex & (2 * abs(np.real(z)) > -math.log(16 * form.tiny)),
        1,
        2,
    ),
)
_OF_TAN = (
    *by_format(
        "exp(-2 abs(imag(z))) within 4 binades of the smallest number, derivatives",
        lambda form, z: form.is_complex & (2 * abs(np.imag(z)) > -math.log(16 * form.tiny)),
        1,
        2,
    ),
)
_OF_COMPLEX_EXP2 = _of_complex(
    "abs(imag(z)) > 2", "imag(z) log(2), the angle, is rounded", lambda z: abs(np.imag(z)) > 2, math.inf
)
_AT_MINUS_INFINITY = Limit("-inf", "x is multiplied by 0", np.isneginf, orders=(0,))
_AT_INFINITIES = Limit("-inf and inf", "both parts of the quotient are infinite", np.isinf, orders=(0,))


def _zero_of_two(interval: str, function: Callable[..., np.ndarray]) -> Limit:
    """A limit beside the zeros of a function of two arguments."""
    return Limit(
        interval,
        _CANCEL,
        lambda x, y: abs(function(x, y)) < np.maximum(abs(x), abs(y)) / 2,
        orders=(0,),
    )


_VANISHING_EXP = by_format("exp(x) below the normal numbers", lambda form, x: x < math.log(form.tiny))
_OF_POWER = (
    *by_format(
        "y**2 x**(y - 2) within 2 binades of the ends of the range, or x**2 out of it",
        lambda form, x, y: (
            (np.abs((y - 2) * np.log2(x) + 2 * np.log2(np.maximum(abs(y), 1))) > form.most - 2)
            | (np.abs(2 * np.log2(x)) > form.most - 2)
        ),
        2,
    ),
    Limit(
        "abs(log(x)) * max(abs(y), 1) > 4, derivatives",
        "y - 1 is rounded",
        lambda x, y: abs(np.log(x)) * np.maximum(abs(y), 1) > 4,
        orders=(1, 2),
        at_most=256,
    ),
    Limit(
        "-1.6 < y * log(x) < -0.4, second derivatives",
        _CANCEL,
        lambda x, y: abs(1 + y * np.log(x)) < 0.6,
        orders=(2,),
    ),
)
_OF_DIVIDE = by_format(
    "x / y**2 or 1 / y within 4 binades of the smallest number, derivatives",
    lambda form, x, y: (
        (np.log2(abs(x)) - 2 * np.log2(abs(y)) < form.least + 4)
        | (np.log2(abs(x)) - 3 * np.log2(abs(y)) < form.least + 4)
        | (-2 * np.log2(abs(y)) < form.least + 4)
    ),
    1,
    2,
)
_OF_ARCTAN2 = (
    *by_format(
        "x**2 + y**2 out of range, or an argument within 2**10 of the smallest number, second derivatives",
        lambda form, y, x: (
            (np.hypot(x, y) < 2.0 ** (form.least / 2 + 1))
            | (np.hypot(x, y) > 2.0 ** (form.most / 2 - 1))
            | (np.minimum(abs(x), abs(y)) < form.tiny * 2**10)
        ),
        2,
    ),
    Limit(
        "abs(x) within 25 % of abs(y), second derivatives",
        _CANCEL,
        lambda y, x: abs(abs(x) - abs(y)) < 0.25 * abs(y),
        orders=(2,),
    ),
)
_OF_HARD_SILU = (
    _AT_MINUS_INFINITY,
    _zeros("-1.75 < x < -1.25, first derivative", 0.25, -1.5, order=1),
)
_ROUNDED_DIFFERENCE = Limit(
    "abs(x - y) > 4, derivatives",
    "the difference of the arguments is rounded",
    lambda x, y: abs(x - y) > 4,
    orders=(1, 2),
    at_most=1024,
)


def _everywhere(*xs) -> np.ndarray:
    return np.full(xs[0].shape, True)


_OF_CBRT = (
    Limit("value", "XLA's cube root, without optimizations of LLVM", _everywhere, orders=(0,), at_most=16),
    Limit("first derivative", "the error of the cube root is squared", _everywhere, orders=(1,), at_most=48),
    Limit(
        "second derivative",
        "the error of the cube root is raised to the fifth power",
        _everywhere,
        orders=(2,),
        at_most=96,
    ),
)
_TANH_IN_FLOAT64 = Limit(
    "abs(x) > 16",
    "XLA's tanh in double precision, beside 1",
    lambda x: abs(x) > 16,
    dtypes=("float64",),
    orders=(0,),
    at_most=16,
)
_OF_SINC = (
    Limit(
        "abs(cos(pi x)) < 0.25, first derivative",
        _CANCEL,
        lambda x: (abs(np.cos(np.pi * x)) < 0.25) & (abs(x) > 1),
        orders=(1,),
    ),
    Limit(
        "abs(sin(pi x)) < 0.4 or abs(x) between 0.5 and 0.8, second derivative",
        _CANCEL,
        lambda x: (abs(np.sin(np.pi * x)) < 0.4) & (abs(x) > 0.5) | (abs(abs(x) - 0.65) < 0.15),
        orders=(2,),
    ),
    *by_format("below 4 times the smallest number", lambda form, x: abs(x) < 4 * form.tiny, 1),
    *by_format(
        "1 / x**2 within 4 binades of the smallest number, second derivative",
        lambda form, x: abs(x) > 0.25 * form.tiny**-0.5,
        2,
    ),
    *by_format(
        "1 / x within 3 binades of the smallest number, derivatives", lambda form, x: abs(x) > 0.1 / form.tiny, 1, 2
    ),
)
_VANISHING_SLOPE = by_format(
    "exp(-abs(x)) within 2 binades of the smallest number", lambda form, x: abs(x) > -math.log(4 * form.tiny), 2
)
_SQUARE_BEYOND = by_format(
    "x**2 within 3 binades of the largest number, derivatives",
    lambda form, x: abs(x) > 2.0 ** (form.most / 2 - 1.5),
    1,
    2,
)
_OF_SQUAREPLUS = Limit(
    "abs(x) < 1, second derivative",
    "roundings of several products add up",
    lambda x: abs(x) < 1,
    orders=(2,),
    at_most=12,
)
_OF_SILU = (
    _AT_MINUS_INFINITY,
    *_VANISHING_EXP,
    *_VANISHING_SLOPE,
    _zeros("-1.53 < x < -1.03, first derivative", 0.25, -1.2785, order=1),
    _zeros("2.2 < abs(x) < 2.6, second derivative", 0.2, -2.3994, 2.3994, order=2),
)
_OF_MISH = (
    _AT_MINUS_INFINITY,
    *_VANISHING_EXP,
    *by_format(
        "exp(-2 x) within 2 binades of the smallest number", lambda form, x: 2 * x > -math.log(4 * form.tiny), 2
    ),
    _zeros("-1.6 < x < -0.8, first derivative", 0.4, -1.1924, order=1),
    Limit("x <= -1.6, first derivative", "roundings of factors add up", lambda x: x < -1.5, orders=(1,), at_most=16),
    _zeros("-2.66 < x < -1.86, or 1.09 < x < 1.89, second derivative", 0.4, -2.2564, 1.4906, order=2),
    Limit(
        "x > 1.5, second derivative",
        "exp(-2 x) of a rounded softplus",
        lambda x: x > 1.5,
        orders=(2,),
        at_most=128,
    ),
)
_OF_GELU = (
    *by_format(
        "exp(-x**2 / 2) / abs(x) within 4 binades of the smallest number",
        lambda form, x: (x < -1) & (-x * x / 2 - np.log(abs(x)) < math.log(form.tiny * 16)),
    ),
    *by_format(
        "exp(-x**2 / 2) within 16 binades of the smallest number, second derivative",
        lambda form, x: -x * x / 2 < math.log(form.tiny * 2**16),
        2,
    ),
    Limit("x < -3", "x / sqrt(2) is rounded before erfc", lambda x: x < -3, at_most=2048),
    Limit("-3 <= x < -1", "x / sqrt(2) is rounded before erfc", lambda x: x < -1, at_most=32),
    Limit("x > 3, second derivative", "x**2 / 2 is rounded before exp", lambda x: x > 3, orders=(2,), at_most=2048),
    _zeros("-1 < x < -0.5, first derivative", 0.25, -0.7518, order=1),
    _zeros("1.21 < abs(x) < 1.61, second derivative", 0.2, -1.4142, 1.4142, order=2),
)
_OF_GELU_BY_TANH = (
    _AT_MINUS_INFINITY,
    *by_format(
        "the logistic function within 4 binades of the smallest number",
        lambda form, x: -math.sqrt(8 / math.pi) * abs(x + 0.044715 * x**3) < math.log(form.tiny * 16),
    ),
    Limit("x < -3", "the argument of the logistic function is rounded", lambda x: x < -3, at_most=2048),
    Limit(
        "-3 <= x < -1.5",
        "the argument of the logistic function is rounded",
        lambda x: x < -1.5,
        at_most=32,
    ),
    Limit(
        "x > 2, second derivative",
        "the argument of the logistic function is rounded",
        lambda x: x > 2,
        orders=(2,),
        at_most=2048,
    ),
    _zeros("-1 < x < -0.5, first derivative", 0.25, -0.7525, order=1),
    _zeros("1.11 < abs(x) < 1.71, second derivative", 0.3, -1.4142, 1.4142, order=2),
)
_OF_ARCTAN = (
    _COMPLEX_DERIVATIVES,
    Limit("second derivative", "roundings of factors add up", _everywhere, ("float64",), (2,), 12),
)
_PI = 3.141592653589793
_TURNS = (*(_PI * k / 2 for k in (1, 2, 3, 4, 5, 100, 1000)), 1e5, 1e22, 1e30)
_OVERFLOW = (11.09, 88.72, 709.78, -9.7, -87.3, -708.4, -17.3, -37.4)

FUNCTIONS = (
    _two("numpy.add", lambda x, y: x + y, dtypes=ALL),
    _two("numpy.subtract", lambda x, y: x - y, dtypes=ALL),
    _two("numpy.multiply", lambda x, y: x * y, dtypes=ALL),
    _two("numpy.divide", lambda x, y: x / y, (), (0.0,), dtypes=ALL, limits=_OF_DIVIDE),
    _two(
        "numpy.power",
        _power,
        (0.0, 1.0),
        (0.0, 1.0, 2.0, 3.0, -1.0, 0.5),
        domain=lambda x, y: x >= 0,
        limits=_OF_POWER,
    ),
    _two("numpy.hypot", lambda x, y: mp.sqrt(x * x + y * y)),
    _two("numpy.arctan2", lambda y, x: mp.atan2(y, x), domain=lambda y, x: y != 0, limits=_OF_ARCTAN2),
    _two(
        "numpy.logaddexp",
        lambda x, y: max(x, y) + mp.log(1 + mp.exp(-abs(x - y))),
        _OVERFLOW,
        _OVERFLOW,
        limits=(_ROUNDED_DIFFERENCE, _zero_of_two("beside exp(x) + exp(y) = 1", np.logaddexp)),
    ),
    _two(
        "numpy.logaddexp2",
        lambda x, y: max(x, y) + mp.log(1 + mpf(2) ** -abs(x - y), 2),
        limits=(_ROUNDED_DIFFERENCE, _zero_of_two("beside 2**x + 2**y = 1", np.logaddexp2)),
    ),
    _two("numpy.remainder", _remainder, orders=0),
    _two("numpy.maximum", max, orders=0),
    _two("numpy.copysign", lambda x, y: abs(x) * (-1 if y < 0 else 1), orders=0, domain=lambda x, y: y != 0),
    _of("numpy.negative", lambda z: -z, dtypes=ALL),
    _of("numpy.square", lambda z: z * z, dtypes=ALL),
    _of("numpy.reciprocal", lambda z: 1 / z, 0.0, dtypes=ALL),
    _of("lax.integer_pow", lambda z: z**3, parameters=(("y", 3),), dtypes=ALL, reference=""),
    _of(
        "lax.integer_pow",
        lambda z: z**-2,
        0.0,
        parameters=(("y", -2),),
        dtypes=ALL,
        reference="",
        limits=_OF_INVERSE_SQUARE,
    ),
    _of("numpy.abs", abs, 0.0, dtypes=REAL),
    _of("numpy.abs", abs, 0.0, dtypes=_COMPLEX, orders=0),
    _of("numpy.sign", mp.sign, 0.0, dtypes=REAL, orders=0),
    _of("numpy.sign", mp.sign, 0.0, dtypes=_COMPLEX, orders=0, domain=lambda z: z != 0),
    _of("numpy.sqrt", mp.sqrt, 0.0, dtypes=ALL),
    _of("lax.rsqrt", lambda z: 1 / mp.sqrt(z), 0.0, dtypes=ALL, reference=""),
    _of("numpy.cbrt", _cbrt, 0.0, limits=_OF_CBRT),
    _of("numpy.exp", mp.exp, *_OVERFLOW, *_TURNS[:6], dtypes=ALL, singular=((),), limits=_EXP_NEAR_OVERFLOW),
    _of(
        "numpy.exp2",
        lambda z: mp.exp(z * mp.ln2),
        16.0,
        128.0,
        1024.0,
        -14.0,
        -126.0,
        -1022.0,
        dtypes=ALL,
        limits=(_OF_COMPLEX_EXP2,),
    ),
    _of(
        "numpy.expm1",
        _expm1,
        0.0,
        *_OVERFLOW,
        *_TURNS[:6],
        dtypes=ALL,
        singular=((),),
        limits=_EXP_NEAR_OVERFLOW,
    ),
    _of("numpy.log", mp.log, 0.0, 1.0, dtypes=ALL),
    _of("numpy.log2", lambda z: mp.log(z) / mp.ln2, 0.0, 1.0, 2.0, dtypes=ALL),
    _of("numpy.log10", lambda z: mp.log(z) / mp.ln10, 0.0, 1.0, 10.0, dtypes=ALL),
    _of("numpy.log1p", _log1p, 0.0, -1.0, dtypes=ALL, singular=((-1.0,),), limits=(_OF_COMPLEX_LOG1P,)),
    _of("numpy.sin", mp.sin, 0.0, *_TURNS, dtypes=ALL, singular=((),), limits=(_COMPLEX_VALUE,)),
    _of("numpy.cos", mp.cos, 0.0, *_TURNS, dtypes=ALL, singular=((),), limits=(_COMPLEX_VALUE,)),
    _of(
        "numpy.tan",
        mp.tan,
        0.0,
        *_TURNS,
        dtypes=ALL,
        singular=((),),
        limits=(*_OF_TAN, _COMPLEX_VALUE, _COMPLEX_DERIVATIVES),
    ),
    _of("numpy.sinc", _sinc, 0.0, 1.0, 2.0, 3.0, 1000.0, singular=((),), limits=_OF_SINC),
    _of("numpy.arcsin", _asin, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1.0, -1.0),), limits=(_COMPLEX_SECOND,)),
    _of("numpy.arccos", _acos, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1.0, -1.0),), limits=(_COMPLEX_SECOND,)),
    _of("numpy.arctan", _atan, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1j, -1j),), limits=_OF_ARCTAN),
    _of("numpy.sinh", mp.sinh, 0.0, *_OVERFLOW, dtypes=ALL, singular=((),)),
    _of("numpy.cosh", mp.cosh, 0.0, *_OVERFLOW, dtypes=ALL, singular=((),)),
    _of(
        "numpy.tanh",
        mp.tanh,
        0.0,
        9.0,
        19.0,
        *_OVERFLOW,
        dtypes=ALL,
        singular=((),),
        limits=(_TANH_IN_FLOAT64, *_OF_TANH, _COMPLEX_VALUE, _COMPLEX_DERIVATIVES),
    ),
    _of("numpy.arcsinh", _asinh, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1j, -1j),), limits=(_COMPLEX_SECOND,)),
    _of(
        "numpy.arccosh",
        _acosh,
        0.0,
        1.0,
        -1.0,
        dtypes=ALL,
        singular=((1.0, -1.0),),
        limits=(*_SQUARE_BEYOND, _COMPLEX_SECOND),
    ),
    _of(
        "numpy.arctanh",
        _atanh,
        0.0,
        1.0,
        -1.0,
        dtypes=ALL,
        singular=((1.0, -1.0),),
        limits=(_COMPLEX_DERIVATIVES,),
    ),
    _of("numpy.deg2rad", lambda x: x * mp.pi / 180),
    _of("numpy.rad2deg", lambda x: x * 180 / mp.pi),
    _of("scipy.special.expit", _logistic, 0.0, *_OVERFLOW, singular=((),)),
    _of("scipy.special.logit", lambda x: mp.log(x) - mp.log(1 - x), 0.0, 0.5, 1.0),
    _of(
        "lax.logistic",
        _logistic,
        0.0,
        *_OVERFLOW,
        dtypes=_COMPLEX,
        singular=((),),
        reference="",
        limits=(_COMPLEX_VALUE, _COMPLEX_DERIVATIVES),
    ),
    _nn("sigmoid", _logistic, 0.0, *_OVERFLOW, singular=((),)),
    _nn("softplus", _softplus, 0.0, *_OVERFLOW, singular=((),)),
    _nn("log_sigmoid", lambda x: -_softplus(-x), 0.0, *_OVERFLOW, singular=((),)),
    _nn("silu", lambda x: x * _logistic(x), 0.0, -1.278, *_OVERFLOW, singular=((),), limits=_OF_SILU),
    _nn("mish", lambda x: x * mp.tanh(_softplus(x)), 0.0, *_OVERFLOW, singular=((),), limits=_OF_MISH),
    _nn("elu", _elu, 0.0, *_OVERFLOW),
    _nn("celu", _elu, 0.0, *_OVERFLOW),
    _nn("selu", lambda x: _SELU_SCALE * _elu(x, _SELU_ALPHA), 0.0, *_OVERFLOW, limits=_VANISHING_EXP),
    _nn(
        "gelu",
        _gelu,
        0.0,
        -0.75,
        -5.0,
        -13.0,
        -38.0,
        parameters=(("approximate", False),),
        singular=((),),
        limits=_OF_GELU,
    ),
    _nn(
        "gelu",
        _gelu_by_tanh,
        0.0,
        -0.75,
        -5.0,
        -13.0,
        -38.0,
        parameters=(("approximate", True),),
        singular=((),),
        limits=_OF_GELU_BY_TANH,
    ),
    _nn("soft_sign", lambda x: x / (1 + abs(x)), 0.0, limits=(_AT_INFINITIES,)),
    _nn(
        "squareplus",
        lambda x: (x + mp.sqrt(x * x + 4)) / 2,
        0.0,
        singular=((),),
        limits=(*_SQUARE_BEYOND, _OF_SQUAREPLUS),
    ),
    _nn("log1mexp", _log1mexp, 0.0, 0.6931, domain=lambda x: x > 0),
    _nn("relu", lambda x: max(x, 0), 0.0),
    _nn("relu6", lambda x: min(max(x, 0), 6), 0.0, 6.0),
    _nn("leaky_relu", lambda x: x if x > 0 else x * mpf(0.01), 0.0),
    _nn("hard_tanh", lambda x: min(max(x, -1), 1), -1.0, 1.0),
    _nn("hard_sigmoid", lambda x: min(max(x + 3, 0), 6) / 6, -3.0, 3.0),
    _nn("hard_silu", lambda x: x * min(max(x + 3, 0), 6) / 6, -3.0, 0.0, 3.0, limits=_OF_HARD_SILU),
    _nn(
        "sparse_plus",
        _piecewise((-1, lambda x: mpf(0)), (1, lambda x: (x + 1) ** 2 / 4), (mp.inf, lambda x: x)),
        -1.0,
        1.0,
    ),
    _nn("sparse_sigmoid", lambda x: min(max(x + 1, 0), 2) / 2, -1.0, 1.0),
)
