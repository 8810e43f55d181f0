"""The calls whose results are recorded: each a function of a library, which is primax or jax."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["GROUPS", "results"]

# A function of a library, or of a library and arrays.
Call = Callable[..., Any]

SPECIAL = np.float32([-np.inf, -2.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 2, np.inf, np.nan])
MATRIX = np.float32([[4, 1, -2], [1, 3, 0.5], [-2, 0.5, 5]])
IMAGE = (np.arange(48, dtype=np.float32).reshape(1, 2, 4, 6) * 7 % 11 - 5) / 4
KERNEL = (np.arange(24, dtype=np.float32).reshape(3, 2, 2, 2) * 5 % 7 - 3) / 4

UNARY = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh erf erf_inv erfc exp exp2 "
    "expm1 floor lgamma log log1p logistic neg reciprocal rsqrt sign sin sinh sqrt square tan tanh"
).split()
BINARY = "add atan2 div max min mul nextafter pow rem sub".split()
# Whose derivatives at special points differ from release to release of jax, or are none at NaN in jax.
UNSTEADY = {"acosh", "bessel_i1e", "lgamma"}
ACTIVATIONS = (
    "celu elu gelu hard_sigmoid hard_swish leaky_relu log_sigmoid relu relu6 selu sigmoid silu softplus".split()
)


def _derivatives(lib: Any, fun: Call, *xs: Any) -> list[Any]:
    """The derivative with respect to each argument, element by element."""
    ones = [np.ones_like(x) for x in xs]
    zeros = [np.zeros_like(x) for x in xs]
    return [
        lib.jvp(fun, xs, tuple(one if i == j else zero for j, (one, zero) in enumerate(zip(ones, zeros, strict=True))))[
            1
        ]
        for i in range(len(xs))
    ]


def _pairs() -> list[np.ndarray[Any, Any]]:
    return [np.float32(x) for x in zip(*itertools.product(SPECIAL[::2], SPECIAL[1::2]), strict=True)]


def _elementwise() -> dict[str, Call]:
    of_one = {
        name: lambda lib, name=name: [
            getattr(lib.lax, name)(SPECIAL),
            *([] if name in UNSTEADY else _derivatives(lib, getattr(lib.lax, name), SPECIAL)),
        ]
        for name in UNARY
    }
    of_two = {name: lambda lib, name=name: getattr(lib.lax, name)(*_pairs()) for name in BINARY}
    of_nn = {
        f"nn.{name}": lambda lib, name=name: _derivatives(lib, getattr(lib.nn, name), SPECIAL[1:-2])
        for name in ACTIVATIONS
    }
    return of_one | of_two | of_nn


def _random() -> dict[str, Call]:
    def draw(name: str, *args: Any, **options: Any) -> Call:
        return lambda lib: getattr(lib.random, name)(lib.random.key(7), *args, **options)

    def data(lib: Any) -> list[Any]:
        random, key = lib.random, lib.random.key(2**31 + 5)
        keys = random.split(key, 3)
        return [random.key_data(x) for x in (key, keys, random.split(key, (2, 2)), random.fold_in(keys[1], 9))]

    return {
        "keys": data,
        **{f"bits of {width}": draw("bits", (5,), f"uint{width}") for width in (8, 16, 32)},
        "uniform": draw("uniform", (6,), minval=-2.0, maxval=3.0),
        "normal": draw("normal", (6,)),
        "randint": draw("randint", (6,), -5, 1000),
        "permutation": draw("permutation", 9),
        "choice": draw("choice", 7, (4,), p=np.float32([1, 2, 3, 4, 3, 2, 1]) / 16),
        "bernoulli": draw("bernoulli", 0.3, (9,)),
        "categorical": draw("categorical", np.float32([0, 1, 2, 3]), shape=(6,)),
        "exponential": draw("exponential", (4,)),
        "gamma": draw("gamma", 2.5, (4,)),
        "truncated_normal": draw("truncated_normal", -1.0, 2.0, (4,)),
    }


def _structure() -> dict[str, Call]:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    at = np.int32([0, 7, -1])

    def gradient(of: Call) -> Call:
        return lambda lib: lib.grad(lambda x: (of(lib, x) * np.float32(0.5)).sum())(x)

    return {
        **{
            f"x.at[...].{name} in mode {mode}": lambda lib, name=name, mode=mode: getattr(
                lib.numpy.asarray(x).at[at], name
            )(np.float32(2), mode=mode)
            for name in ("add", "set", "max", "mul")
            for mode in ("drop", "clip")
        },
        "x[positions]": lambda lib: lib.numpy.asarray(x)[at],
        "take": gradient(lambda lib, x: lib.numpy.take(x, at, 0, mode="clip") ** 2),
        "x[mask columns]": gradient(lambda lib, x: x[:, np.int32([3, 0])] ** 2),
        "cumsum in reverse": lambda lib: lib.lax.cumsum(x, axis=1, reverse=True),
        "sort": lambda lib: lib.lax.sort((SPECIAL, np.arange(11, dtype=np.int32)), num_keys=1),
        "argmax": lambda lib: [lib.numpy.argmax(SPECIAL), lib.numpy.argmin(x, 1)],
        "max and its derivative": gradient(lambda lib, x: lib.numpy.maximum(x, x[0]).max(1)),
        "var": gradient(lambda lib, x: lib.numpy.var(x, 0, ddof=1)),
        "pad": lambda lib: lib.lax.pad(x, np.float32(9), ((1, -1, 0), (0, 1, 1))),
        "clamp": lambda lib: _derivatives(
            lib, lib.lax.clamp, *np.float32([[0, 0, 2, 1], [-1, 0.5, 1, 3], [1, 1, 3, 2]])
        ),
        "logsumexp": lambda lib: lib.grad(lambda x: lib.nn.logsumexp(x))(np.float32([1, -np.inf, 100, 3])),
    }


def _products() -> dict[str, Call]:
    batch = np.stack([MATRIX, MATRIX.T @ MATRIX])

    def convolve(lib: Any, image: Any, kernel: Any) -> Any:
        return lib.lax.conv_general_dilated(
            image, kernel, (2, 1), ((1, 0), (0, 2)), lhs_dilation=(1, 2), rhs_dilation=(2, 1)
        )

    return {
        "matmul": lambda lib: lib.grad(lambda a: (lib.numpy.matmul(a, batch) ** 2).sum())(MATRIX),
        "einsum": lambda lib: lib.numpy.einsum("bij,kj->bik", batch, MATRIX[:2]),
        "convolution": lambda lib: convolve(lib, IMAGE, KERNEL),
        "its derivatives": lambda lib: lib.grad(lambda *xs: (convolve(lib, *xs) ** 2).sum(), (0, 1))(IMAGE, KERNEL),
        "reduce_window": lambda lib: lib.grad(
            lambda x: (lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 1, 2, 3), (1, 1, 1, 2), "SAME") ** 2).sum()
        )(IMAGE),
        "cholesky": lambda lib: lib.grad(lambda a: lib.numpy.linalg.cholesky(a).sum())(MATRIX),
        "solve": lambda lib: lib.grad(lambda a: lib.numpy.linalg.solve(a, MATRIX[0]).sum())(MATRIX),
        "eigh": lambda lib: lib.grad(lambda a: (lib.numpy.linalg.eigh(a)[0] * np.float32([1, 2, 3])).sum())(MATRIX),
        "slogdet": lambda lib: lib.grad(lambda a: lib.numpy.linalg.slogdet(a)[1])(MATRIX),
        "svd": lambda lib: lib.numpy.linalg.svd(batch, compute_uv=False),
        "fft": lambda lib: lib.numpy.fft.rfft(MATRIX),
    }


def _programs() -> dict[str, Call]:
    x = np.float32([0.3, -1.2, 2.5])

    def scan(lib: Any, x: Any) -> Any:
        return lib.lax.scan(lambda c, a: (lib.numpy.sin(c * a), c + a), x[0], x * np.float32(0.7), reverse=True)

    def loop(lib: Any, x: Any) -> Any:
        return lib.lax.fori_loop(0, 4, lambda i, y: y * np.float32(0.9) + x[0] * i, x)

    def branch(lib: Any, x: Any) -> Any:
        return lib.lax.cond(x[1] > 0, lib.numpy.sin, lib.numpy.cos, x) * lib.lax.switch(
            5, [lib.numpy.exp, lib.numpy.tanh], x
        )

    def rematerialized(lib: Any, x: Any) -> Any:
        return lib.checkpoint(lambda x: lib.numpy.sin(lib.numpy.exp(x)))(x)

    def of(fun: Call) -> Call:
        def call(lib: Any) -> Any:
            def total(x: Any) -> Any:
                out = fun(lib, x)
                return sum(y.sum() for y in (out if isinstance(out, tuple) else (out,)))

            return [lib.grad(total)(x), lib.hessian(total)(x)]

        return call

    programs = {"scan": scan, "fori_loop": loop, "cond and switch": branch, "checkpoint": rematerialized}
    return {
        **{f"{name}, gradient and Hessian": of(fun) for name, fun in programs.items()},
        "while_loop, mapped": lambda lib: lib.vmap(
            lambda x: lib.lax.while_loop(lambda y: y < 9, lambda y: y * 2 + 1, x)
        )(np.float32([0.5, 20, -0.5])),
        "vmap of jacobians": lambda lib: lib.vmap(lib.jacfwd(functools.partial(branch, lib)))(np.stack([x, -x])),
        "associative_scan": lambda lib: lib.lax.associative_scan(lib.numpy.multiply, x),
    }


def _promotion() -> dict[str, Call]:
    """Sums of numbers of two dtypes, and with Python's scalars: their dtypes and weak types are what counts."""
    names = "bool uint8 int8 uint16 int16 uint32 int32 bfloat16 float16 float32 complex64".split()
    scalars = {"True": True, "2": 2, "2.0": 2.0, "2j": 2j}

    def one(lib: Any, name: str) -> Any:
        return lib.numpy.ones((), name)

    return {
        **{
            f"{a} with {b}": lambda lib, a=a, b=b: one(lib, a) + one(lib, b)
            for a, b in itertools.combinations_with_replacement(names, 2)
        },
        **{
            f"{a} with {text}": lambda lib, a=a, scalar=scalar: one(lib, a) * scalar
            for a in names
            for text, scalar in scalars.items()
        },
        **{
            f"{a} with {b}": lambda lib, x=scalars[a], y=scalars[b]: lib.numpy.add(x, y)
            for a, b in itertools.combinations_with_replacement(scalars, 2)
        },
    }


GROUPS: dict[str, Callable[[], dict[str, Call]]] = {
    "elementwise": _elementwise,
    "random": _random,
    "structure": _structure,
    "products": _products,
    "programs": _programs,
    "promotion": _promotion,
}


def results(lib: Any, group: str) -> dict[str, list[Any]]:
    """The arrays that each call of a group returns, of one compiled program."""
    leaves = lib.tree.leaves
    return lib.jit(lambda: {name: leaves(call(lib)) for name, call in GROUPS[group]().items()})()  # type: ignore[no-any-return]
