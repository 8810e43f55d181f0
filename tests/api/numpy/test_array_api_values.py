"""Functions of the array API standard give the values, dtypes and shapes that array-api-strict gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits", "standard"), pytest.mark.any_release]

Call = Callable[..., Any]
Calls = Mapping[str, Call]

INTEGERS = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

_TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-11}


@pytest.fixture(scope="module", autouse=True)
def standard() -> Iterator[None]:
    """The version of the standard that primax.numpy conforms to."""
    strict.set_array_api_strict_flags(api_version=pnp.__array_api_version__)
    yield
    strict.reset_array_api_strict_flags()


def elements(dtype: str, small: bool = False) -> st.SearchStrategy[Any]:
    """Numbers of a dtype; those that no sum or product of a few of them overflows if `small`.

    Neither numbers below the normal ones, which XLA takes for zeros, nor complex numbers that are not finite, of
    which it computes other infinities and NaN than the standard wants.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return st.booleans()
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return st.integers(max(limits.min, -4), 4) if small else st.integers(int(limits.min), int(limits.max))
    if kind.kind == "f":
        some = st.integers(-64, 64).map(lambda n: n / 8)
        return some if small else some | st.floats(width=8 * kind.itemsize, allow_subnormal=False)
    return st.builds(lambda x, y: complex(x, y) / 8, st.integers(-32, 32), st.integers(-32, 32))


def outcomes(calls: Calls, *arrays: Any) -> dict[str, Any]:
    """What array-api-strict says, but where it says that the standard does not define this."""
    found = {}
    for name, call in calls.items():
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found[name] = call(strict, *[strict.asarray(x) for x in arrays])
        except (TypeError, ValueError, IndexError, np.exceptions.ComplexWarning):
            continue
    return found


@cache
def program(family: str, names: tuple[str, ...]) -> Any:
    """One program for all calls saves compiling each of them."""
    return px.jit(lambda *arrays: {name: FAMILIES[family][name](pnp, *arrays) for name in names})


def leaves(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def check(family: str, *arrays: Any, compiled: bool = True, scaled: bool = False) -> None:
    """Assert that all calls of a family which the standard defines for such arrays give what it says.

    Args:
      family: of `FAMILIES`.
      arrays: NumPy arrays.
      compiled: whether the calls are made in one program.
      scaled: whether tolerances are relative to the largest element of a result.
    """
    wanted = outcomes(FAMILIES[family], *arrays)
    with px.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # that numbers become real, as in NumPy
        if compiled:
            results = program(family, tuple(wanted))(*arrays) if wanted else {}
        else:
            results = {name: FAMILIES[family][name](pnp, *map(pnp.asarray, arrays)) for name in wanted}
    problems = []
    for name, want in wanted.items():
        got, expected = leaves(results[name]), leaves(want)
        assert len(got) == len(expected), name
        for one, other in zip(got, expected, strict=True):
            problem = difference(np.asarray(one), np.asarray(other), scaled)
            if problem:
                problems.append(f"{name}: {problem}")
    assert not problems, "\n".join([f"of {', '.join(map(repr, arrays))}:", *problems])


def difference(got: Any, want: Any, scaled: bool) -> str:
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"got {got.dtype}{got.shape}, the standard says {want.dtype}{want.shape}"
    if got.dtype.kind not in "fc":
        return "" if np.array_equal(got, want) else f"got {got}, the standard says {want}"
    rtol = _TOLERANCE[got.dtype.name]
    atol = rtol if got.dtype.kind == "c" else 2 * float(np.finfo(got.dtype).tiny)
    if scaled:
        atol = 4 * rtol * float(np.max(np.abs(want), initial=1))
    with np.errstate(all="ignore"):
        close = np.isclose(got, want, rtol, atol, equal_nan=True)
    return "" if close.all() else f"got {got[~close]}, the standard says {want[~close]}"


def _named(names: str, *args: Any, **options: Any) -> dict[str, Call]:
    """Functions by name, of arrays and then of further arguments."""
    return {name: lambda xp, *xs, name=name: getattr(xp, name)(*xs, *args, **options) for name in names.split()}


def _with(name: str, *ways: Mapping[str, Any], args: tuple[Any, ...] = ()) -> dict[str, Call]:
    """One function with several choices of keyword arguments."""
    return {f"{name} {way}": lambda xp, *xs, way=way: getattr(xp, name)(*xs, *args, **way) for way in ways}


def _finite_quotient(xp: Any, x: Any) -> Any:
    """x // 2, but x where it is infinite, of which array-api-strict says what NumPy says and the standard does not."""
    return xp.where(xp.isinf(x), x, x // 2) if xp.isdtype(x.dtype, "real floating") else x // 2


def _reduced(name: str, *further: Mapping[str, Any]) -> dict[str, Call]:
    axes = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (1, 0)}, {"axis": (), "keepdims": True})
    return _with(name, *axes, *further)


def _cumulated(name: str) -> dict[str, Call]:
    return _with(name, {"axis": 0}, {"axis": -1, "include_initial": True})


def _operators(symbols: str) -> dict[str, Call]:
    return {f"x {o} y": lambda xp, x, y, o=o: eval(f"x {o} y", {"x": x, "y": y}) for o in symbols.split()}


def _with_scalars(symbols: str) -> dict[str, Call]:
    both = [f"{a} {o} {b}" for o in symbols.split() for a, b in (("x", "2"), ("3", "x"), ("x", "1.5"), ("2j", "x"))]
    return {
        text: lambda xp, x, text=text: eval(text, {"x": x}) for text in (*both, "x & True", "False | x", "x ^ True")
    }


def regular(xp: Any, x: Any) -> Any:
    """A matrix whose diagonal outweighs the rest."""
    return x / 64 + xp.eye(3, dtype=x.dtype)


def positive(xp: Any, x: Any) -> Any:
    """A Hermitian matrix with positive eigenvalues."""
    return xp.matmul(x, xp.conj(xp.matrix_transpose(x))) / 64 + xp.eye(3, dtype=x.dtype)


def positions(xp: Any, *arrays: Any, **options: Any) -> Any:
    """What searchsorted returns, whose dtype is a deviation, as int64."""
    return xp.astype(xp.searchsorted(*arrays, **options), xp.int64)


SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", *SEVERAL)

FAMILIES: dict[str, dict[str, Call]] = {
    "functions of one array": {
        **_named(
            "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite "
            "isinf isnan log log1p log2 log10 logical_not negative ones_like positive real reciprocal round sign "
            "signbit sin sinh square sqrt tan tanh trunc zeros_like"
        ),
        "-x": lambda xp, x: -x,
        "+x": lambda xp, x: +x,
        "~x": lambda xp, x: ~x,
        "abs(x)": lambda xp, x: abs(x),
        "full_like": lambda xp, x: xp.full_like(x, 1),
        "zeros of float32": lambda xp, x: xp.zeros_like(x, dtype=xp.float32),
        "clip": lambda xp, x: xp.clip(x, 1, 3),
        "clip from above": lambda xp, x: xp.clip(x, max=2),
        "clip by arrays": lambda xp, x: xp.clip(x, min=-xp.ones_like(x), max=xp.ones_like(x)),
        "x.real": lambda xp, x: xp.real(x),
    },
    "functions of two arrays": {
        **_named(
            "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal "
            "greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor "
            "maximum minimum multiply nextafter not_equal subtract"
        ),
        **_operators("+ - * / & | ^ << >> == != < <= > >="),
        "where": lambda xp, x, y: xp.where(xp.equal(x, y), x, y),
    },
    "an array and a number": {
        **_with_scalars("+ - * / == < >= & | ^"),
        **{f"x {o} True": lambda xp, x, o=o: eval(f"x {o} True", {"x": x}) for o in "&|^"},
        "x // 2": _finite_quotient,
        "x % 2": lambda xp, x: x % 2,
        "x ** 2": lambda xp, x: x**2,
        "where": lambda xp, x: xp.where(xp.equal(x, x), x, 1),
        "maximum": lambda xp, x: xp.maximum(x, 2),
        "multiply": lambda xp, x: xp.multiply(2.0, x),
        "atan2": lambda xp, x: xp.atan2(x, 1.0),
    },
    "quotients and powers": {
        **_named("floor_divide remainder pow"),
        **_operators("// % **"),
        **{f"3 {o} y": lambda xp, x, y, o=o: eval(f"3 {o} y", {"y": y}) for o in ("//", "%", "**")},
    },
    "reductions": {
        **_reduced("sum"),
        **_reduced("prod"),
        **_reduced("max"),
        **_reduced("min"),
        **_reduced("mean"),
        **_reduced("var", {"correction": 1.0}, {"axis": 1, "correction": 0.5}),
        **_reduced("std", {"axis": 0, "correction": 1}),
        **_reduced("all"),
        **_reduced("any"),
        **_reduced("count_nonzero"),
        **_with("argmax", {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}),
        **_with("argmin", {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}),
        "sum as float64": lambda xp, x: xp.sum(x, dtype=xp.float64),
        "prod as int64": lambda xp, x: xp.prod(x, axis=0, dtype=xp.int64),
    },
    "cumulative and sorting functions": {
        **_cumulated("cumulative_sum"),
        **_cumulated("cumulative_prod"),
        **_with("diff", {}, {"axis": 0}, {"n": 2}, {"n": 0}),
        **_with("sort", {}, {"axis": 0}, {"descending": True}, {"axis": 0, "descending": True, "stable": False}),
        **_with("argsort", {}, {"axis": 0}, {"descending": True}),
        "diff with ends": lambda xp, x: xp.diff(x, axis=0, prepend=x[:1, :], append=x),
        "cumulative_sum of one axis": lambda xp, x: xp.cumulative_sum(x[0, :], include_initial=True),
        "cumulative_sum as float64": lambda xp, x: xp.cumulative_sum(x, axis=1, dtype=xp.float64),
    },
    "searching": {
        "take": lambda xp, x, i: xp.take(x, i, axis=0),
        "take along the last": lambda xp, x, i: xp.take(x, i, axis=-1),
        "take_along_axis": lambda xp, x, i: xp.take_along_axis(x, xp.broadcast_to(i, (3, 4)), axis=1),
        "take_along_axis of columns": lambda xp, x, i: xp.take_along_axis(x, xp.reshape(i, (4, 1))[:2, :] % 3, axis=0),
        "searchsorted": lambda xp, x, i: positions(xp, xp.sort(x[0, :]), x[1, :]),
        "searchsorted from the right": lambda xp, x, i: positions(xp, xp.sort(x[0, :]), x, side="right"),
        "searchsorted by a sorter": lambda xp, x, i: positions(xp, x[0, :], x[1, :], sorter=xp.argsort(x[0, :])),
        "x[i, i]": lambda xp, x, i: x[i, i],
        "x[i, 0]": lambda xp, x, i: x[i, 0],
    },
    "sets": {
        "nonzero": lambda xp, x: xp.nonzero(xp.reshape(x, (2, 3))),
        "x[x]": lambda xp, x: x[xp.astype(x, xp.bool)],
        **_named("unique_all unique_counts unique_inverse unique_values"),
        "unique_all of two axes": lambda xp, x: xp.unique_all(xp.reshape(x, (3, 2))),
    },
    "fft": {
        **{name: lambda xp, x, name=name: getattr(xp.fft, name)(x) for name in TRANSFORMS},
        **{f"{name} n": lambda xp, x, name=name: getattr(xp.fft, name)(x, n=5, axis=0) for name in TRANSFORMS[:6]},
        **{f"{name} ortho": lambda xp, x, name=name: getattr(xp.fft, name)(x, norm="ortho") for name in TRANSFORMS},
        **{f"{name} of one axis": lambda xp, x, name=name: getattr(xp.fft, name)(x, axes=(0,)) for name in SEVERAL},
        "fftfreq": lambda xp, x: xp.fft.fftfreq(5, d=0.5),
        "fftfreq as float32": lambda xp, x: xp.fft.fftfreq(4, dtype=xp.float32),
        "rfftfreq": lambda xp, x: xp.fft.rfftfreq(5),
        "fftshift": lambda xp, x: xp.fft.fftshift(x),
        "ifftshift": lambda xp, x: xp.fft.ifftshift(x, axes=(1,)),
    },
    "linear algebra": {
        **_named("matmul tensordot"),
        **_operators("@"),
        **_with("tensordot", {"axes": 1}, {"axes": ((0,), (1,))}),
        "matmul of a vector": lambda xp, x, y: xp.matmul(x[0, :], y),
        "matmul of vectors": lambda xp, x, y: x[0, :] @ y[1, :],
        **_with("vecdot", {}, {"axis": 0}),
        "matrix_transpose": lambda xp, x, y: xp.linalg.matrix_transpose(x),
        "cross": lambda xp, x, y: xp.linalg.cross(x, y, axis=0),
        "diagonal": lambda xp, x, y: xp.linalg.diagonal(x, offset=1),
        "outer": lambda xp, x, y: xp.linalg.outer(x[0, :], y[1, :]),
        "trace": lambda xp, x, y: xp.linalg.trace(x, offset=-1),
        "trace as complex128": lambda xp, x, y: xp.linalg.trace(x, dtype=xp.complex128),
        "det": lambda xp, x, y: xp.linalg.det(regular(xp, x)),
        "inv": lambda xp, x, y: xp.linalg.inv(regular(xp, x)),
        "solve": lambda xp, x, y: xp.linalg.solve(regular(xp, x), y),
        "solve of a vector": lambda xp, x, y: xp.linalg.solve(regular(xp, x), y[0, :]),
        "slogdet": lambda xp, x, y: xp.linalg.slogdet(regular(xp, x)),
        "cholesky": lambda xp, x, y: xp.linalg.cholesky(positive(xp, x)),
        "cholesky above": lambda xp, x, y: xp.linalg.cholesky(positive(xp, x), upper=True),
        "eigvalsh": lambda xp, x, y: xp.linalg.eigvalsh(positive(xp, x)),
        "eigh": lambda xp, x, y: xp.linalg.eigh(positive(xp, x)).eigenvalues,
        "svdvals": lambda xp, x, y: xp.linalg.svdvals(x),
        "svd": lambda xp, x, y: xp.linalg.svd(x, full_matrices=False).S,
        "qr": lambda xp, x, y: xp.abs(xp.linalg.qr(regular(xp, x), mode="complete").R),
        "pinv": lambda xp, x, y: xp.linalg.pinv(regular(xp, x)),
        "matrix_norm": lambda xp, x, y: xp.linalg.matrix_norm(x),
        "matrix_norm of rows": lambda xp, x, y: xp.linalg.matrix_norm(x, ord=float("inf"), keepdims=True),
        "nuclear norm": lambda xp, x, y: xp.linalg.matrix_norm(x, ord="nuc"),
        "matrix_power": lambda xp, x, y: xp.linalg.matrix_power(regular(xp, x), -2),
        "matrix_rank": lambda xp, x, y: xp.linalg.matrix_rank(regular(xp, x)),
        "vector_norm": lambda xp, x, y: xp.linalg.vector_norm(x),
        "vector_norm along axes": lambda xp, x, y: xp.linalg.vector_norm(x, axis=0, ord=1, keepdims=True),
        "vector_norm of others": lambda xp, x, y: xp.linalg.vector_norm(x, axis=(0, 1), ord=3.0),
    },
    "functions of shapes": {
        "concat": lambda xp, x, y: xp.concat((x, y)),
        "concat along the last": lambda xp, x, y: xp.concat([x, x], axis=-1),
        "concat of all": lambda xp, x, y: xp.concat([x, y], axis=None),
        "stack": lambda xp, x, y: xp.stack((x, x)),
        "stack along the last": lambda xp, x, y: xp.stack([x, x, x], axis=-1),
        "unstack": lambda xp, x, y: xp.unstack(x),
        "unstack along the last": lambda xp, x, y: xp.unstack(x, axis=-1),
        "reshape": lambda xp, x, y: xp.reshape(x, (-1,)),
        "reshape with a copy": lambda xp, x, y: xp.reshape(x, (1, -1, 2), copy=True),
        "permute_dims": lambda xp, x, y: xp.permute_dims(x, (2, 0, 1)),
        "moveaxis": lambda xp, x, y: xp.moveaxis(x, 0, -1),
        "moveaxis of several": lambda xp, x, y: xp.moveaxis(x, (0, 1), (1, 2)),
        "expand_dims": lambda xp, x, y: xp.expand_dims(x, axis=1),
        "expand_dims at the end": lambda xp, x, y: xp.expand_dims(x, axis=-1),
        "squeeze": lambda xp, x, y: xp.squeeze(xp.expand_dims(x, axis=0), axis=0),
        "flip": lambda xp, x, y: xp.flip(x),
        "flip along axes": lambda xp, x, y: xp.flip(x, axis=(0, -1)),
        "roll": lambda xp, x, y: xp.roll(x, 3),
        "roll along axes": lambda xp, x, y: xp.roll(x, (1, -2), axis=(0, 1)),
        "repeat": lambda xp, x, y: xp.repeat(x, 2),
        "repeat along an axis": lambda xp, x, y: xp.repeat(x, 3, axis=1),
        "tile": lambda xp, x, y: xp.tile(x, (2, 1, 1, 2)),
        "broadcast_to": lambda xp, x, y: xp.broadcast_to(x, (2, *x.shape)),
        "broadcast_arrays": lambda xp, x, y: xp.broadcast_arrays(x, xp.expand_dims(y, axis=0)),
        "meshgrid": lambda xp, x, y: xp.meshgrid(x[0, 0, :], y[0, :, 0]),
        "meshgrid by indices": lambda xp, x, y: xp.meshgrid(x[0, 0, :], y[0, :, 0], indexing="ij"),
        "tril": lambda xp, x, y: xp.tril(x),
        "tril above": lambda xp, x, y: xp.tril(x, k=1),
        "triu": lambda xp, x, y: xp.triu(x, k=-1),
        "matrix_transpose": lambda xp, x, y: xp.matrix_transpose(x),
        "x.mT": lambda xp, x, y: x.mT,
        "x[0].T": lambda xp, x, y: x[0, :, :].T,
        "astype float64": lambda xp, x, y: xp.astype(x, xp.float64),
        "astype complex64": lambda xp, x, y: xp.astype(x, xp.complex64),
        "astype bool": lambda xp, x, y: xp.astype(x, xp.bool),
        "x[1, ..., 0]": lambda xp, x, y: x[1, ..., 0],
        "x[:, None, ::-1]": lambda xp, x, y: x[:, None, ::-1, :],
        "x[-1, 1:, :1]": lambda xp, x, y: x[-1, 1:, :1],
    },
}


EXAMPLES = settings(max_examples=10)


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_functions_of_one_array(dtype: str, data: Any) -> None:
    check("functions of one array", data.draw(hnp.arrays(dtype, (6,), elements=elements(dtype))))


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_functions_of_two_arrays_broadcast(dtype: str, data: Any) -> None:
    one, other = (data.draw(hnp.arrays(dtype, shape, elements=elements(dtype))) for shape in ((3, 1), (2,)))
    check("functions of two arrays", one, other)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@EXAMPLES
@given(st.data())
def test_quotients_and_powers(dtype: str, data: Any) -> None:
    one = data.draw(hnp.arrays(dtype, (3, 1), elements=elements(dtype, True)))
    check("quotients and powers", one, data.draw(hnp.arrays(dtype, (2,), elements=st.integers(1, 8))))


MIXED = [
    (one, other)
    for kinds in (INTEGERS, (*FLOATS, *COMPLEX))
    for i, one in enumerate(kinds)
    for other in kinds[i + 1 :]
    if {one, other} & {"uint64"} == set() or one.startswith("uint")
]


@pytest.mark.parametrize("dtypes", MIXED, ids="-".join)
@settings(max_examples=3)
@given(st.data())
def test_functions_of_two_arrays_promote(dtypes: tuple[str, str], data: Any) -> None:
    check("functions of two arrays", *[data.draw(hnp.arrays(d, (3,), elements=elements(d, True))) for d in dtypes])


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_numbers_take_the_dtype_of_arrays(dtype: str, data: Any) -> None:
    check("an array and a number", data.draw(hnp.arrays(dtype, (4,), elements=elements(dtype))))


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_reductions(dtype: str, data: Any) -> None:
    check("reductions", data.draw(hnp.arrays(dtype, (2, 3), elements=elements(dtype, True))))


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_cumulative_and_sorting_functions(dtype: str, data: Any) -> None:
    check("cumulative and sorting functions", data.draw(hnp.arrays(dtype, (3, 4), elements=elements(dtype, True))))


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_functions_of_shapes(dtype: str, data: Any) -> None:
    one, other = (data.draw(hnp.arrays(dtype, shape, elements=elements(dtype))) for shape in ((2, 3, 2), (1, 3, 2)))
    check("functions of shapes", one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@EXAMPLES
@given(st.data())
def test_searching(dtype: str, data: Any) -> None:
    x = data.draw(hnp.arrays(dtype, (3, 4), elements=elements(dtype, True)))
    check("searching", x, data.draw(hnp.arrays(np.int64, (4,), elements=st.integers(0, 2))))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "complex64"])
@settings(max_examples=3)
@given(st.data())
def test_sets_outside_of_programs(dtype: str, data: Any) -> None:
    check("sets", data.draw(hnp.arrays(dtype, (6,), elements=elements(dtype, True))), compiled=False)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@EXAMPLES
@given(st.data())
def test_transforms(dtype: str, data: Any) -> None:
    check("fft", data.draw(hnp.arrays(dtype, (3, 4), elements=elements(dtype, True))), scaled=True)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@EXAMPLES
@given(st.data())
def test_linear_algebra(dtype: str, data: Any) -> None:
    one, other = (data.draw(hnp.arrays(dtype, (3, 3), elements=elements(dtype, True))) for _ in range(2))
    check("linear algebra", one, other, scaled=True)


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    """Small numbers, as many as it takes."""
    return np.resize(np.array([1, 0, 3, 2, 1], dtype), shape)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_arrays_without_axes_or_elements(dtype: str) -> None:
    for shape in ((), (0,), (2, 0)):
        check("functions of one array", numbers(dtype, shape))
    for one, other in (((), (3,)), ((0,), ()), ((3, 1, 2), (4, 1))):
        check("functions of two arrays", numbers(dtype, one), numbers(dtype, other))
    for shape in ((0, 3), (2, 0), (1, 1)):
        check("reductions", numbers(dtype, shape))
        check("cumulative and sorting functions", numbers(dtype, shape))


SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
@settings(max_examples=8, deadline=None)
@given(st.data())
def test_functions_of_arrays_of_any_shapes(dtype: str, data: Any) -> None:
    some, small = elements(dtype), elements(dtype, True)
    check("functions of one array", data.draw(hnp.arrays(dtype, SHAPES, elements=some)))
    check("an array and a number", data.draw(hnp.arrays(dtype, SHAPES, elements=some)))
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_dims=3)).input_shapes
    check("functions of two arrays", *[data.draw(hnp.arrays(dtype, shape, elements=some)) for shape in shapes])
    matrices = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5)
    check("reductions", data.draw(hnp.arrays(dtype, matrices, elements=small)))
    check("cumulative and sorting functions", data.draw(hnp.arrays(dtype, matrices, elements=small)))
