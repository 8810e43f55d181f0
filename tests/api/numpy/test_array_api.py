"""primax.numpy is the namespace that the Python array API standard describes, but for a few deviations."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

# Other parameters of functions than the standard's, in name, kind or default, that accept its calls all the same.
EQUIVALENT_DEFAULTS = {
    ("arange", "step"): (None, 1),
    ("argmax", "keepdims"): (None, False),
    ("argmin", "keepdims"): (None, False),
    ("astype", "copy"): (False, True),
    ("std", "correction"): (None, 0.0),
    ("var", "correction"): (None, 0.0),
    **{(name, "norm"): (None, "backward") for name in "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft".split()},
}

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
KEYWORD = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

NAMESPACES = [(pnp, strict), (pnp.fft, strict.fft), (pnp.linalg, strict.linalg)]


@pytest.fixture(scope="module", autouse=True)
def standard() -> Iterator[None]:
    """The version of the standard that primax.numpy conforms to."""
    strict.set_array_api_strict_flags(api_version=pnp.__array_api_version__)
    yield
    strict.reset_array_api_strict_flags()


def functions(namespace: ModuleType) -> dict[str, Any]:
    """The functions of the standard in a namespace of array-api-strict."""
    names = [name for name in namespace.__all__ if "flags" not in name.lower() and not name.startswith("__")]
    return {name: getattr(namespace, name) for name in names if inspect.isfunction(getattr(namespace, name))}


def refusals(name: str, function: Callable[..., Any], reference: Callable[..., Any]) -> Iterator[str]:
    """What calls that the standard allows a function does not take, or takes to mean something else."""
    own, wanted = inspect.signature(function).parameters, inspect.signature(reference).parameters
    places = [p.name for p in own.values() if p.kind in POSITIONAL]
    count = sum(p.kind in POSITIONAL for p in wanted.values())
    if len(places) < count and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in own.values()):
        yield f"{name}: takes {len(places)} positional arguments, not {count}"
    for place, parameter in enumerate(wanted.values()):
        if parameter.kind not in KEYWORD:
            continue
        mine = own.get(parameter.name)
        if mine is None or mine.kind not in KEYWORD:
            yield f"{name}: does not take {parameter.name} by keyword"
        elif parameter.kind in POSITIONAL and places[place] != parameter.name:
            yield f"{name}: takes {places[place]} where {parameter.name} should be"
        elif not same_default(name, mine, parameter):
            yield f"{name}: {parameter.name} is {mine.default} if not given, not {parameter.default}"


def same_default(name: str, mine: Any, theirs: Any) -> bool:
    if theirs.default is inspect.Parameter.empty or type(theirs.default).__name__ == "Undef":
        return True
    return mine.default == theirs.default or EQUIVALENT_DEFAULTS.get((name, mine.name)) == (
        mine.default,
        theirs.default,
    )


@pytest.mark.parametrize("own, reference", NAMESPACES)
def test_every_name_of_the_standard_is_there(own: ModuleType, reference: ModuleType) -> None:
    names = {*functions(reference)}
    if reference is strict:
        names |= {"__array_namespace_info__", "e", "inf", "nan", "newaxis", "pi", *DTYPES}
    assert sorted(name for name in names if not hasattr(own, name)) == []


@pytest.mark.parametrize("own, reference", NAMESPACES)
def test_functions_take_the_arguments_of_the_standard(own: ModuleType, reference: ModuleType) -> None:
    problems = [
        problem
        for name, function in functions(reference).items()
        for problem in refusals(name, getattr(own, name), function)
    ]
    assert problems == []


DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


def test_dtypes_promote_as_the_standard_says() -> None:
    with px.enable_x64(True):
        for one in DTYPES:
            for other in DTYPES:
                try:
                    wanted = strict.result_type(getattr(strict, one), getattr(strict, other))
                except TypeError:
                    continue  # the standard leaves it open
                found = pnp.result_type(getattr(pnp, one), getattr(pnp, other))
                assert found == np.dtype(wanted._np_dtype), (one, other)
                if {one, other} <= {*KINDS["numeric"]}:
                    assert (pnp.ones(1, one) + pnp.ones(1, other)).dtype == found


KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "integral": tuple(DTYPES[1:9]),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
    "numeric": tuple(DTYPES[1:]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_are_of_the_kinds_of_the_standard(kind: str) -> None:
    assert tuple(name for name in DTYPES if pnp.isdtype(np.dtype(name), kind)) == KINDS[kind]
    assert tuple(name for name in DTYPES if pnp.isdtype(np.dtype(name), (kind, pnp.bool))) == (
        ("bool", *[name for name in KINDS[kind] if name != "bool"])
    )


def test_what_may_be_cast_is_what_promotes() -> None:
    for one in DTYPES:
        for other in DTYPES:
            wanted = strict.can_cast(getattr(strict, one), getattr(strict, other))
            kinds = {np.dtype(one).kind, np.dtype(other).kind}
            if "b" not in kinds and not (kinds & {"f", "c"} and kinds & {"i", "u"}):  # else the standard leaves it open
                assert pnp.can_cast(getattr(pnp, one), getattr(pnp, other)) == wanted, (one, other)
    assert pnp.can_cast(pnp.ones(2, "int8"), pnp.int16)


@pytest.mark.parametrize("name", DTYPES[1:])
def test_limits_of_dtypes_have_the_attributes_of_the_standard(name: str) -> None:
    inexact = name in (*KINDS["real floating"], *KINDS["complex floating"])
    ask, attributes = ("finfo", "bits eps max min smallest_normal") if inexact else ("iinfo", "bits max min")
    own, wanted = getattr(pnp, ask)(getattr(pnp, name)), getattr(strict, ask)(getattr(strict, name))
    for attribute in attributes.split():
        assert getattr(own, attribute) == getattr(wanted, attribute)
        number = int if attribute == "bits" or not inexact else float
        assert type(getattr(own, attribute)) is number
    assert own.dtype == wanted.dtype._np_dtype
    with px.enable_x64(True):
        assert getattr(pnp, ask)(pnp.ones(1, name)).bits == wanted.bits


def test_constants_are_python_floats() -> None:
    assert (pnp.e, pnp.pi, pnp.inf, pnp.newaxis) == (np.e, np.pi, np.inf, None)
    assert pnp.nan != pnp.nan
    assert all(type(x) is float for x in (pnp.e, pnp.pi, pnp.inf, pnp.nan))


def test_arrays_are_made_as_the_standard_says() -> None:
    device = pnp.zeros(1).device
    assert pnp.asarray([1, 2.5], dtype=pnp.float32, device=device, copy=True).tolist() == [1.0, 2.5]
    assert pnp.asarray(memoryview(np.arange(2.0, dtype=np.float32))).dtype == np.float32
    x = pnp.arange(3.0)
    assert pnp.asarray(x) is x
    assert pnp.asarray(x, copy=False) is x
    assert pnp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy is False"):
        pnp.asarray(x, dtype=pnp.int32, copy=False)
    with px.enable_x64(True):
        for name, args in CREATED.items():
            for options in ({}, {"dtype": "int8"}, {"dtype": "float32"}):
                own = {key: getattr(pnp, value) for key, value in options.items()}
                theirs = {key: getattr(strict, value) for key, value in options.items()}
                found = np.asarray(getattr(pnp, name)(*args, device=device, **own))
                wanted = np.asarray(getattr(strict, name)(*args, **theirs))
                assert found.dtype == wanted.dtype, (name, options)
                np.testing.assert_allclose(found, wanted if name != "empty" else found, rtol=1e-6)
                assert found.shape == wanted.shape


CREATED = {
    "zeros": ((2, 3),),
    "ones": (2,),
    "empty": ((0, 2),),
    "full": ((2,), 7),
    "arange": (1, 9, 3),
    "linspace": (0.0, 6.0, 4),
    "eye": (2, 3),
}


def test_arrays_have_the_attributes_of_the_standard() -> None:
    x = pnp.ones((2, 3))
    assert (x.ndim, x.shape, x.size, x.dtype) == (2, (2, 3), 6, np.float32)
    assert (x.T.shape, x.mT.shape) == ((3, 2), (3, 2))
    assert x.to_device(x.device).device == x.device == px.devices()[0]
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device(x.device, stream=1)
    assert x.__array_namespace__() is pnp
    assert x.__array_namespace__(api_version=pnp.__array_api_version__) is pnp
    with pytest.raises(ValueError, match=r"api_version must be '2024\.12' or None, got '2021\.12'"):
        x.__array_namespace__(api_version="2021.12")


def test_methods_show_the_signatures_of_the_standard() -> None:
    x = pnp.asarray([1.0])
    assert str(inspect.signature(x.__array_namespace__).replace(return_annotation=inspect.Signature.empty)) == (
        "(*, api_version: 'str | None' = None)"
    )
    assert [(p.name, p.kind.name) for p in inspect.signature(x.to_device).parameters.values()] == [
        ("device", "POSITIONAL_ONLY"),
        ("stream", "KEYWORD_ONLY"),
    ]


def test_axes_out_of_range_are_index_errors_and_value_errors() -> None:
    x = pnp.ones((2, 3))
    for call in (
        lambda: pnp.expand_dims(x, axis=3),
        lambda: pnp.expand_dims(x, axis=-4),
        lambda: pnp.sum(x, axis=2),
        lambda: pnp.unstack(x, axis=2),
        lambda: pnp.size(x, 2),
    ):
        with pytest.raises(IndexError, match="must be in") as info:
            call()
        assert isinstance(info.value, ValueError)


@pytest.mark.parametrize("wide", [False, True])
def test_positions_are_of_the_default_dtype_of_indices(wide: bool) -> None:
    with px.enable_x64(wide):
        wanted = pnp.__array_namespace_info__().default_dtypes()["indexing"]
        x = pnp.asarray([1.0, 2.0, 3.0])
        for found in (pnp.searchsorted(x, x[:2]), pnp.searchsorted(x, 2.0, side="right"), *pnp.nonzero(x)):
            assert found.dtype == wanted
        assert px.jit(pnp.searchsorted)(x, x).dtype == wanted
        assert pnp.searchsorted(x, x, sorter=pnp.argsort(x)).tolist() == [0, 1, 2]


_BOUNDED = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


@given(st.sampled_from([0, 1, 2, 6, 11, 22]), _BOUNDED, _BOUNDED)
@example(22, 2.0**-60, 2.0**-60 * 1.25)
@example(11, -(2.0**80), 2.0**-80)
@settings(max_examples=15, deadline=None)
def test_linspace_begins_and_ends_where_it_is_told(count: int, start: float, stop: float) -> None:
    out = np.asarray(pnp.linspace(start, stop, count, dtype=pnp.float32))
    assert out[:1].tolist() == [start][:count]
    assert out[1:][-1:].tolist() == [stop][: max(count - 1, 0)]
    without = pnp.linspace(start, stop, count, dtype=pnp.float32, endpoint=False)
    np.testing.assert_array_equal(without, np.asarray(pnp.linspace(start, stop, count + 1, dtype=pnp.float32))[:-1])


def test_points_between_arrays_end_in_the_arrays() -> None:
    low, high = np.float32([1e-20, -3e20]), np.float32([2e-30, 7e-5])
    for axis in (0, 1):
        out = np.asarray(pnp.linspace(low, high, 6, axis=axis))
        np.testing.assert_array_equal(np.moveaxis(out, axis, 0)[[0, -1]], [low, high])
    np.testing.assert_array_equal(pnp.geomspace(np.float32(1), np.float32(7e-5), 6)[-1], np.float32(7e-5))


def test_counts_of_repetitions_and_bounds_of_slices_are_arrays() -> None:
    x = pnp.asarray([[1, 2, 3], [4, 5, 6]])
    for dtype in ("int8", "uint8", "int32", "uint32"):
        counts = pnp.asarray([2, 1, 3], dtype=dtype)
        out = pnp.repeat(x, counts, axis=1)
        start = 0
        for i, count in enumerate(counts):
            assert out[:, start : start + count].tolist() == [[row[i]] * int(count) for row in x.tolist()]
            start = start + count
        assert pnp.repeat(x, pnp.asarray([2], dtype=dtype), axis=-2).shape == (4, 3)


def test_a_copy_is_refused_of_what_has_memory() -> None:
    host = np.arange(3.0)
    for value in (host, host[0], memoryview(host)):
        with pytest.raises(ValueError, match="copy is False"):
            pnp.asarray(value, copy=False)
    for value in (2, 2.5, True, 1j, [1, 2]):
        assert pnp.asarray(value, copy=False).tolist() == value


def test_arrays_of_rank_0_become_python_numbers() -> None:
    assert (complex(pnp.asarray(1j)), float(pnp.asarray(2)), int(pnp.asarray(2.5)), bool(pnp.asarray(0.0))) == (
        1j,
        2.0,
        2,
        False,
    )
    assert [10, 20, 30][pnp.asarray(2)] == 30
    for x in (pnp.asarray(2.0), pnp.asarray(True), pnp.asarray([1])):
        with pytest.raises(TypeError, match="only an integer array of rank 0 can be an index"):
            x.__index__()
    with pytest.raises(TypeError, match="can become a Python float"):
        float(pnp.ones(1))


def test_arrays_contain_their_elements() -> None:
    assert 2 in pnp.arange(3)
    assert 3 not in pnp.arange(3)


def test_what_is_in_an_array_is_a_number_and_the_array_of_rank_1() -> None:
    with pytest.raises(ValueError, match=r"in: the left operand must be of rank 0, got .*\[2\]"):
        np.ones(2) in pnp.ones(2)  # noqa: B015
    with pytest.raises(ValueError, match=r"in: the right operand must be an array of rank 1, got .*\[2,2\]"):
        1 in pnp.ones((2, 2))  # noqa: B015


def test_a_tracer_has_a_namespace_and_no_device() -> None:
    def f(x: Any) -> Any:
        assert x.__array_namespace__() is pnp
        assert x.device is None
        return x + pnp.ones(3, device=x.device)

    assert px.jit(f)(pnp.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert px.jit(lambda x: x.to_device(px.devices()[0]))(pnp.ones(2)).tolist() == [1.0, 1.0]


def test_the_namespace_says_what_it_can_do() -> None:
    info = pnp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
    assert info.default_device() is None
    assert info.devices() == [None, *px.devices()]
    assert [dtype.name for dtype in info.default_dtypes().values()] == ["float32", "complex64", "int32", "int32"]
    assert [*info.dtypes()] == [name for name in DTYPES if name == "complex64" or not name.endswith(("64", "128"))]
    assert [*info.dtypes(kind=("bool", "real floating"))] == ["bool", "float32"]
    with px.enable_x64(True):
        assert [*info.dtypes(device=info.default_device())] == DTYPES
        assert info.default_dtypes(device=None)["indexing"] == np.int64
    with pytest.raises(ValueError, match="isdtype: kind must be a dtype or one of"):
        info.dtypes(kind="imaginary")


def test_arrays_pass_through_dlpack() -> None:
    host = np.arange(4.0, dtype=np.float32)
    x = pnp.from_dlpack(host, device=None, copy=True)
    assert x.tolist() == host.tolist()
    assert np.from_dlpack(x).tolist() == host.tolist()
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # array_api_strict lends no arrays with an older one
        assert pnp.from_dlpack(strict.asarray(host)).tolist() == host.tolist()
    assert x.__dlpack_device__() == (1, 0)
    for options in ({}, {"max_version": (1, 0)}, {"dl_device": (1, 0), "copy": False}, {"copy": True}):
        assert type(x.__dlpack__(**options)).__name__ == "PyCapsule"
    with pytest.raises(BufferError, match=r"dl_device must be \(1, 0\), its device, got \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))


SPECIAL = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0])
ONE = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 "
    "negative positive reciprocal round sign signbit sin sinh square sqrt tan tanh trunc"
).split()
TWO = (
    "add atan2 copysign divide equal hypot less logaddexp maximum minimum multiply nextafter not_equal pow subtract"
).split()


def same(found: Any, wanted: Any) -> bool:
    """Equal to a tolerance, NaN where the other is, and the sign of zeros is that of the other."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    close = np.isclose(found, wanted, 1e-5, 0, equal_nan=True)
    zeros = (wanted == 0) & (found.dtype.kind == "f")
    return bool((close & (~zeros | (np.signbit(found) == np.signbit(wanted)))).all())


def test_special_values_of_functions_are_those_of_the_standard() -> None:
    x, y = SPECIAL[:, None], SPECIAL[None, :]
    one = px.jit(lambda x: {name: getattr(pnp, name)(x) for name in ONE})(x)
    two = px.jit(lambda x, y: {name: getattr(pnp, name)(x, y) for name in TWO})(x, y)
    with np.errstate(all="ignore"):
        wanted_one = {name: getattr(strict, name)(strict.asarray(x)) for name in ONE}
        wanted_two = {name: getattr(strict, name)(strict.asarray(x), strict.asarray(y)) for name in TWO}
    found, wanted = {**one, **two}, {**wanted_one, **wanted_two}
    for name in ("maximum", "minimum"):  # which zero they return is open
        found[name], wanted[name] = found[name] + 0.0, wanted[name] + 0.0
    assert [name for name in found if not same(found[name], wanted[name])] == []


# Parts of results where a part of the argument is infinite or NaN; signs of zeros that are left open are not looked at.
_INF, _NAN = np.inf, np.nan
COMPLEX_VALUES: list[tuple[str, complex, float, float]] = [
    *[("acos", complex(zero, _NAN), np.pi / 2, _NAN) for zero in (0.0, -0.0)],
    ("acosh", complex(0.0, _NAN), _NAN, np.pi / 2),
    *[(name, complex(2.5, _NAN), _NAN, _NAN) for name in ("acos", "acosh", "asinh", "atanh", "sinh", "cosh", "tanh")],
    *[("asinh", complex(_NAN, b), _NAN, b if b == 0 else _NAN) for b in (0.0, -0.0, 1.5)],
    *[("atanh", complex(a, _NAN), a if a == 0 else np.copysign(0, a), _NAN) for a in (0.0, -0.0, _INF, -_INF)],
    *[("atanh", complex(_NAN, b), _NAN, _NAN) for b in (0.0, 1.5, -2.0, _NAN)],
    *[("cosh", complex(0.0, b), _NAN, 0.0) for b in (_INF, -_INF, _NAN)],
    *[("cosh", complex(a, b), _INF, _NAN) for a in (_INF, -_INF) for b in (_INF, -_INF, _NAN)],
    *[("exp", complex(-_INF, b), 0.0, 0.0) for b in (_INF, -_INF, _NAN)],
    *[("expm1", complex(-_INF, b), -1.0, 0.0) for b in (_INF, -_INF, _NAN)],
    *[(name, complex(_INF, b), _INF, _NAN) for name in ("exp", "expm1") for b in (_INF, -_INF, _NAN)],
    *[(name, complex(a, _NAN), _INF, _NAN) for name in ("log", "log1p", "log2", "log10") for a in (_INF, -_INF)],
    *[(name, complex(_NAN, b), _INF, _NAN) for name in ("log", "log1p", "log2", "log10") for b in (_INF, -_INF)],
    *[("sinh", complex(a, b), a, _NAN) for a in (0.0, _INF) for b in (_INF, -_INF, _NAN)],
    ("sqrt", complex(-_INF, _NAN), _NAN, _INF),
    ("sqrt", complex(_INF, _NAN), _INF, _NAN),
    *[("sqrt", complex(a, b), _INF, b) for a in (_NAN, 1.0, -_INF) for b in (_INF, -_INF)],
    *[("tanh", complex(0.0, b), 0.0, _NAN) for b in (_INF, -_INF, _NAN)],
    *[("sign", complex(a, b), 0.0, 0.0) for a in (0.0, -0.0) for b in (0.0, -0.0)],
    # sin(z) is -i sinh(iz), and likewise for their inverses and for tan; cos(z) is cosh(iz).
    ("asin", complex(0.0, _NAN), 0.0, _NAN),
    ("atan", complex(_NAN, 0.0), _NAN, 0.0),
    ("cos", complex(_NAN, 0.0), _NAN, 0.0),
    ("cos", complex(_NAN, _INF), _INF, _NAN),
    ("sin", complex(_NAN, 0.0), _NAN, 0.0),
    ("tan", complex(_INF, 0.0), _NAN, 0.0),
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_that_are_not_finite(dtype: str) -> None:
    names = dict.fromkeys(case[0] for case in COMPLEX_VALUES)
    with px.enable_x64(True):
        for name in names:
            cases = [case for case in COMPLEX_VALUES if case[0] == name]
            z = pnp.asarray(np.array([case[1] for case in cases], dtype))
            found = getattr(pnp, name)(z)
            assert found.dtype == dtype
            for part, wanted in ((found.real, [case[2] for case in cases]), (found.imag, [case[3] for case in cases])):
                np.testing.assert_allclose(part, np.asarray(wanted, part.dtype), rtol=1e-6, err_msg=name)


def test_complex_functions_have_their_derivatives_and_weak_types() -> None:
    z = np.complex64(0.3 + 0.7j)
    for name, wanted in (("exp", np.exp), ("sinh", np.cosh), ("cos", lambda z: -np.sin(z)), ("log", lambda z: 1 / z)):
        slope = px.grad(getattr(pnp, name), holomorphic=True)(z)
        np.testing.assert_allclose(slope, wanted(z), rtol=1e-5)
    assert pnp.exp(2j).weak_type
    assert not pnp.exp(z).weak_type
    assert px.vmap(pnp.tanh)(np.array([z, 2 * z])).dtype == np.complex64


def test_the_sign_of_zeros_is_the_positive_zero() -> None:
    for dtype in ("float32", "bfloat16"):
        found = np.asarray(pnp.sign(pnp.asarray([-0.0, 0.0, -2.0, pnp.nan], dtype=dtype)).astype("float32"))
        np.testing.assert_array_equal(found, [0, 0, -1, np.nan])
        assert np.signbit(found)[:3].tolist() == [False, False, True]
    assert pnp.sign(pnp.asarray([-3, 0, 3])).tolist() == [-1, 0, 1]


# Quotients and remainders of floats by the kinds of the operands; x and y mean the operands.
DIVISIONS: list[tuple[list[float], list[float], Any, Any]] = [
    ([_NAN], [*SPECIAL], _NAN, _NAN),
    ([*SPECIAL], [_NAN], _NAN, _NAN),
    ([_INF, -_INF], [_INF, -_INF], _NAN, _NAN),
    ([0.0, -0.0], [0.0, -0.0], _NAN, _NAN),
    ([0.0], [1.5, _INF], 0.0, 0.0),
    ([-0.0], [1.5, _INF], -0.0, 0.0),
    ([0.0], [-1.5, -_INF], -0.0, -0.0),
    ([-0.0], [-1.5, -_INF], 0.0, -0.0),
    ([1.5, _INF], [0.0], _INF, _NAN),
    ([1.5, _INF], [-0.0], -_INF, _NAN),
    ([-1.5, -_INF], [0.0], -_INF, _NAN),
    ([-1.5, -_INF], [-0.0], _INF, _NAN),
    ([_INF], [1.5], _INF, _NAN),
    ([_INF], [-1.5], -_INF, _NAN),
    ([-_INF], [1.5], -_INF, _NAN),
    ([-_INF], [-1.5], _INF, _NAN),
    ([1.5], [_INF], 0.0, "x"),
    ([1.5], [-_INF], -0.0, "y"),  # NumPy, Python and JAX say -1, which is the limit
    ([-1.5], [_INF], -0.0, "y"),
    ([-1.5], [-_INF], 0.0, "x"),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_special_values_of_quotients_and_remainders(dtype: str) -> None:
    cases = [(x, y, quotient, rest) for xs, ys, quotient, rest in DIVISIONS for x in xs for y in ys]
    x, y = (pnp.asarray([case[i] for case in cases], dtype=dtype) for i in (0, 1))
    quotients = np.float32([case[2] for case in cases])
    rests = np.float32([{"x": case[0], "y": case[1]}.get(case[3], case[3]) for case in cases])
    for found, wanted in ((x // y, quotients), (x % y, rests), (pnp.divmod(x, y)[0], quotients)):
        np.testing.assert_array_equal(found.astype("float32"), wanted)
        np.testing.assert_array_equal(np.signbit(found.astype("float32"))[wanted == 0], np.signbit(wanted)[wanted == 0])


def test_the_hyperbolic_tangent_of_complex_infinities_has_a_zero_of_the_sign_of_the_angle() -> None:
    z = np.array([complex(a, b) for a in (np.inf, -np.inf) for b in (2.0, -2.0, 1.0, -0.0)], np.complex64)
    out = np.asarray(pnp.tanh(z))
    assert out.tolist() == [1, 1, 1, 1, -1, -1, -1, -1]
    assert np.signbit(out.imag).tolist() == np.signbit(z.imag).tolist()


def test_meshgrid_and_broadcast_arrays_return_lists() -> None:
    """As the standard of 2024.12 has it, and JAX."""
    assert type(pnp.meshgrid(pnp.arange(2), pnp.arange(3))) is list
    assert type(pnp.broadcast_arrays(pnp.arange(2), 1)) is list


@pytest.mark.parametrize("y", [1.5, -1.5, np.inf, -np.inf, 0.0, -0.0])
def test_special_values_of_divisions_by_numbers(y: float) -> None:
    x = pnp.asarray(SPECIAL)
    pair = jitted_divmod(x, pnp.full_like(x, y))
    for found, wanted in zip((x // y, x % y), pair, strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[found == 0])


jitted_divmod = px.jit(pnp.divmod)


@pytest.mark.parametrize("y", [2.0, -2.0])
def test_the_remainder_of_zero_has_the_slope_of_others(y: float) -> None:
    for x in (0.0, -0.0, 4.0, 1.0, -1.0):
        assert float(px.grad(pnp.remainder)(x, y)) == 1.0
        assert float(px.grad(lambda x: x % y)(x)) == 1.0


def test_special_values_of_reductions_are_those_of_the_standard() -> None:
    nothing, some = pnp.zeros(0), pnp.asarray([1.0, pnp.nan, pnp.inf])
    assert (float(pnp.sum(nothing)), float(pnp.prod(nothing))) == (0.0, 1.0)
    assert (bool(pnp.all(nothing)), bool(pnp.any(nothing))) == (True, False)
    for function in (pnp.sum, pnp.prod, pnp.max, pnp.min, pnp.mean, pnp.var, pnp.std):
        assert np.isnan(function(some)), function
    assert np.isnan(pnp.mean(nothing))
    assert np.isnan(pnp.var(pnp.ones(1), correction=1))
    assert bool(pnp.all(some))
    assert [int(pnp.argmax(some)), int(pnp.argmin(some))] == [1, 1]


def _changed_in_place(m: Any) -> bool:
    x = y = m.zeros(2)
    x += 1
    return y.tolist() == [1.0, 1.0]


def _assigned(m: Any) -> bool:
    x = m.zeros(2)
    x[0] = 1
    return x.tolist() == [1.0, 0.0]


def _wide(m: Any) -> bool:
    return m.zeros(1, dtype=m.float64).dtype == np.float64


def _copied(m: Any) -> bool:
    x = m.zeros(2)
    return m.astype(x, x.dtype) is not x


def _subnormal(m: Any) -> bool:
    return float(m.multiply(m.asarray(np.float32(1e-40)), m.asarray(0.5))) > 0


# What differs from the standard, with the reason: docs/reference/array-api.md tells users.
DEVIATIONS: dict[str, Callable[[Any], bool]] = {
    "x += y makes another array": _changed_in_place,
    "arrays cannot be assigned to": _assigned,
    "dtypes of 64 bits are off by default": _wide,
    "astype returns what has the dtype already": _copied,
    "subnormal numbers": _subnormal,
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_there_are_these_deviations_and_jax_has_them_too(name: str) -> None:
    conforms = DEVIATIONS[name]
    jax = pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in (pnp, jax.numpy):
            try:
                assert not conforms(module)
            except TypeError as error:
                assert "immutable" in str(error)  # noqa: PT017 - only assignments raise
