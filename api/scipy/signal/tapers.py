"""Periodic window functions by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.extend.provisional.arguments import among

# The weights of 1, cos t, cos 2t, ... for t from -pi to pi.
_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _bohman(x: Any) -> np.ndarray:
    return (1 - abs(x)) * np.cos(np.pi * x) + np.sin(np.pi * abs(x)) / np.pi


def _tukey(x: Any, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones_like(x)
    edge = np.minimum((1 - abs(x)) / min(alpha, 1.0), 1)
    return (1 - np.cos(np.pi * edge)) / 2


# Functions of positions from -1 to 1, and of parameters.
_FORMULAS: dict[str, Any] = {
    "barthann": lambda x: 0.62 - 0.24 * abs(x) + 0.38 * np.cos(np.pi * x),
    "bartlett": lambda x: 1 - abs(x),
    "bohman": _bohman,
    "general_hamming": lambda x, alpha: alpha + (1 - alpha) * np.cos(np.pi * x),
    "kaiser": lambda x, beta: np.i0(beta * np.sqrt(np.maximum(1 - x**2, 0))) / np.i0(beta),
    "lanczos": np.sinc,
    "tukey": _tukey,
}

# Functions of the distance from the center in samples, and of parameters.
_BELLS: dict[str, Any] = {
    "exponential": lambda n, center=None, tau=1.0: np.exp(-abs(n) / tau),
    "gaussian": lambda n, std: np.exp(-((n / std) ** 2) / 2),
    "general_gaussian": lambda n, p, sig: np.exp(-(abs(n / sig) ** (2 * p)) / 2),
}

_KNOWN = sorted((*_COSINES, *_FORMULAS, *_BELLS))


def named_window(function: str, window: Any, length: int) -> np.ndarray | Array:
    """The window that `scipy.signal.get_window` returns for a name, or for a name with parameters.

    Args:
      function: the name of the function in messages.
      window: a name, or a tuple of a name and numbers.
      length: the number of points.

    Raises:
      ValueError: the name is unknown, or needs other parameters.
    """
    name, *parameters = window if isinstance(window, tuple) and window else (window,)
    plain = name.removesuffix("_periodic") if isinstance(name, str) else name
    if not among(plain, _KNOWN):
        raise ValueError(f"{function}: window must be an array or one of {', '.join(_KNOWN)}, got {window!r}")
    if length == 1:
        return np.ones(1)
    # One more point, since the window is periodic: the last point belongs to the next period.
    x = np.linspace(-1, 1, length + 1)[:-1]
    try:
        if plain in _COSINES:
            return _cosines(x, _COSINES[plain], *parameters)
        if plain in _BELLS:
            return _BELLS[plain](x * length / 2, *parameters)
        return _FORMULAS[plain](x, *parameters)
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"{function}: window must have the parameters that {plain} needs, got {window!r}") from None


def _cosines(x: Any, weights: tuple[float, ...]) -> np.ndarray:
    return sum(weight * np.cos(n * np.pi * x) for n, weight in enumerate(weights))
