"""Arithmetic, exponential and trigonometric functions, and what networks are made of."""

from __future__ import annotations

from mpmath import mp, mpc, mpf

from accuracy.functions import ALL, REAL, Function


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


_PI = 3.141592653589793
_TURNS = (*(_PI * k / 2 for k in (1, 2, 3, 4, 5, 100, 1000)), 1e5, 1e22, 1e30)
_OVERFLOW = (11.09, 88.72, 709.78, -9.7, -87.3, -708.4, -17.3, -37.4)

FUNCTIONS = (
    _two("numpy.add", lambda x, y: x + y, dtypes=ALL),
    _two("numpy.subtract", lambda x, y: x - y, dtypes=ALL),
    _two("numpy.multiply", lambda x, y: x * y, dtypes=ALL),
    _two("numpy.divide", lambda x, y: x / y, (), (0.0,), dtypes=ALL),
    _two("numpy.power", _power, (0.0, 1.0), (0.0, 1.0, 2.0, 3.0, -1.0, 0.5), domain=lambda x, y: x >= 0),
    _two("numpy.hypot", lambda x, y: mp.sqrt(x * x + y * y)),
    _two("numpy.arctan2", lambda y, x: mp.atan2(y, x), domain=lambda y, x: y != 0),
    _two("numpy.logaddexp", lambda x, y: max(x, y) + mp.log(1 + mp.exp(-abs(x - y))), _OVERFLOW, _OVERFLOW),
    _two("numpy.logaddexp2", lambda x, y: max(x, y) + mp.log(1 + mpf(2) ** -abs(x - y), 2)),
    _two("numpy.remainder", _remainder, orders=0),
    _two("numpy.maximum", max, orders=0),
    _two("numpy.copysign", lambda x, y: abs(x) * (-1 if y < 0 else 1), orders=0, domain=lambda x, y: y != 0),
    _of("numpy.negative", lambda z: -z, dtypes=ALL),
    _of("numpy.square", lambda z: z * z, dtypes=ALL),
    _of("numpy.reciprocal", lambda z: 1 / z, 0.0, dtypes=ALL),
    _of("lax.integer_pow", lambda z: z**3, parameters=(("y", 3),), dtypes=ALL, reference=""),
    _of("lax.integer_pow", lambda z: z**-2, 0.0, parameters=(("y", -2),), dtypes=ALL, reference=""),
    _of("numpy.abs", abs, 0.0, dtypes=REAL),
    _of("numpy.abs", abs, 0.0, dtypes=("complex64", "complex128"), orders=0),
    _of("numpy.sign", mp.sign, 0.0, dtypes=ALL, orders=0),
    _of("numpy.sqrt", mp.sqrt, 0.0, dtypes=ALL),
    _of("lax.rsqrt", lambda z: 1 / mp.sqrt(z), 0.0, dtypes=ALL, reference=""),
    _of("numpy.cbrt", _cbrt, 0.0),
    _of("numpy.exp", mp.exp, *_OVERFLOW, *_TURNS[:6], dtypes=ALL, singular=((),)),
    _of("numpy.exp2", lambda z: mp.exp(z * mp.ln2), 16.0, 128.0, 1024.0, -14.0, -126.0, -1022.0, dtypes=ALL),
    _of("numpy.expm1", _expm1, 0.0, *_OVERFLOW, *_TURNS[:6], dtypes=ALL, singular=((),)),
    _of("numpy.log", mp.log, 0.0, 1.0, dtypes=ALL),
    _of("numpy.log2", lambda z: mp.log(z) / mp.ln2, 0.0, 1.0, 2.0, dtypes=ALL),
    _of("numpy.log10", lambda z: mp.log(z) / mp.ln10, 0.0, 1.0, 10.0, dtypes=ALL),
    _of("numpy.log1p", _log1p, 0.0, -1.0, dtypes=ALL),
    _of("numpy.sin", mp.sin, 0.0, *_TURNS, dtypes=ALL, singular=((),)),
    _of("numpy.cos", mp.cos, 0.0, *_TURNS, dtypes=ALL, singular=((),)),
    _of("numpy.tan", mp.tan, 0.0, *_TURNS, dtypes=ALL, singular=((),)),
    _of("numpy.sinc", _sinc, 0.0, 1.0, 2.0, 3.0, 1000.0, singular=((),)),
    _of("numpy.arcsin", _asin, 0.0, 1.0, -1.0, dtypes=ALL),
    _of("numpy.arccos", _acos, 0.0, 1.0, -1.0, dtypes=ALL),
    _of("numpy.arctan", _atan, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1j, -1j),)),
    _of("numpy.sinh", mp.sinh, 0.0, *_OVERFLOW, dtypes=ALL, singular=((),)),
    _of("numpy.cosh", mp.cosh, 0.0, *_OVERFLOW, dtypes=ALL, singular=((),)),
    _of("numpy.tanh", mp.tanh, 0.0, 9.0, 19.0, *_OVERFLOW, dtypes=ALL, singular=((),)),
    _of("numpy.arcsinh", _asinh, 0.0, 1.0, -1.0, dtypes=ALL, singular=((1j, -1j),)),
    _of("numpy.arccosh", _acosh, 0.0, 1.0, -1.0, dtypes=ALL),
    _of("numpy.arctanh", _atanh, 0.0, 1.0, -1.0, dtypes=ALL),
    _of("numpy.deg2rad", lambda x: x * mp.pi / 180),
    _of("numpy.rad2deg", lambda x: x * 180 / mp.pi),
    _of("scipy.special.expit", _logistic, 0.0, *_OVERFLOW, singular=((),)),
    _of("scipy.special.logit", lambda x: mp.log(x) - mp.log(1 - x), 0.0, 0.5, 1.0),
    _of("lax.logistic", _logistic, 0.0, *_OVERFLOW, dtypes=("complex64", "complex128"), singular=((),), reference=""),
    _nn("sigmoid", _logistic, 0.0, *_OVERFLOW, singular=((),)),
    _nn("softplus", _softplus, 0.0, *_OVERFLOW, singular=((),)),
    _nn("log_sigmoid", lambda x: -_softplus(-x), 0.0, *_OVERFLOW, singular=((),)),
    _nn("silu", lambda x: x * _logistic(x), 0.0, -1.278, *_OVERFLOW, singular=((),)),
    _nn("mish", lambda x: x * mp.tanh(_softplus(x)), 0.0, *_OVERFLOW, singular=((),)),
    _nn("elu", _elu, 0.0, *_OVERFLOW),
    _nn("celu", _elu, 0.0, *_OVERFLOW),
    _nn("selu", lambda x: _SELU_SCALE * _elu(x, _SELU_ALPHA), 0.0, *_OVERFLOW),
    _nn("gelu", _gelu, 0.0, -0.75, -5.0, -13.0, -38.0, parameters=(("approximate", False),), singular=((),)),
    _nn("gelu", _gelu_by_tanh, 0.0, -0.75, -5.0, -13.0, -38.0, parameters=(("approximate", True),), singular=((),)),
    _nn("soft_sign", lambda x: x / (1 + abs(x)), 0.0),
    _nn("squareplus", lambda x: (x + mp.sqrt(x * x + 4)) / 2, 0.0, singular=((),)),
    _nn("log1mexp", _log1mexp, 0.0, 0.6931, domain=lambda x: x > 0),
    _nn("relu", lambda x: max(x, 0), 0.0),
    _nn("relu6", lambda x: min(max(x, 0), 6), 0.0, 6.0),
    _nn("leaky_relu", lambda x: x if x > 0 else x * mpf(0.01), 0.0),
    _nn("hard_tanh", lambda x: min(max(x, -1), 1), -1.0, 1.0),
    _nn("hard_sigmoid", lambda x: min(max(x + 3, 0), 6) / 6, -3.0, 3.0),
    _nn("hard_silu", lambda x: x * min(max(x + 3, 0), 6) / 6, -3.0, 0.0, 3.0),
    _nn(
        "sparse_plus",
        _piecewise((-1, lambda x: mpf(0)), (1, lambda x: (x + 1) ** 2 / 4), (mp.inf, lambda x: x)),
        -1.0,
        1.0,
    ),
    _nn("sparse_sigmoid", lambda x: min(max(x + 1, 0), 2) / 2, -1.0, 1.0),
)
