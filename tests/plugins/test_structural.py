"""Structural primitives compute, differentiate and batch as jax's do, and name what is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rulecheck import assert_close, check_against_jax, check_batch, check_grad, equations

import primax as px
from primax.extend import core
from primax.plugins import structural as S

# Functions of two numbers, and of those the ones of integers; the others are of three.
OF_FLOATS = (
    "add sub mul div rem pow max min atan2 nextafter complex eq ne lt le gt ge igamma igammac zeta polygamma".split()
)
OF_INTEGERS = "bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic shift_right_logical".split()


def array(*shape: int, dtype: Any = np.float32) -> Any:
    """Distinct numbers, none of them zero."""
    size = int(np.prod(shape))
    values = (np.arange(size) % 7 + 1).reshape(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 0.5j * values[..., ::-1] if shape else values + 1j
    if np.dtype(dtype) == bool:
        values = values % 2 == 0
    return values.astype(dtype)[()] if not shape else values.astype(dtype)


@dataclass(frozen=True)
class Case:
    """A call of a function that jax.lax has too; `m` is either module."""

    name: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return self.name

    def args(self, dtype: Any) -> list[Any]:
        return [array(*shape, dtype=dtype) + (np.array(i).astype(dtype)) for i, shape in enumerate(self.shapes)]


def case(name: str, call: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    return Case(name, call, shapes)


CASES = [
    case("broadcast_in_dim", lambda m, x: m.broadcast_in_dim(x, (2, 4, 3), (0, 2)), (2, 3)),
    case("broadcast_in_dim_stretched", lambda m, x: m.broadcast_in_dim(x, (4, 2, 3), (1, 2)), (1, 3)),
    case("broadcast_in_dim_scalar", lambda m, x: m.broadcast_in_dim(x, (2, 3), ()), ()),
    case("broadcast_in_dim_empty", lambda m, x: m.broadcast_in_dim(x, (0, 3), (1,)), (3,)),
    case("broadcast_in_dim_empty_stretched", lambda m, x: m.broadcast_in_dim(x, (0, 3), (0, 1)), (1, 3)),
    case("broadcast", lambda m, x: m.broadcast(x, (2, 1)), (3,)),
    case("expand_dims", lambda m, x: m.expand_dims(x, (0, -1)), (2, 3)),
    case("reshape", lambda m, x: m.reshape(x, (3, 1, 2)), (2, 3)),
    case("reshape_dimensions", lambda m, x: m.reshape(x, (3, 2), (1, 0)), (2, 3)),
    case("reshape_to_scalar", lambda m, x: m.reshape(x, ()), (1, 1)),
    case("reshape_empty", lambda m, x: m.reshape(x, (0, 7)), (3, 0)),
    case("collapse", lambda m, x: m.collapse(x, 1, 3), (2, 3, 2)),
    case("collapse_to_end", lambda m, x: m.collapse(x, 1), (2, 3, 2)),
    case("transpose", lambda m, x: m.transpose(x, (1, 2, 0)), (2, 3, 4)),
    case("squeeze", lambda m, x: m.squeeze(x, (0, -2)), (1, 3, 1, 2)),
    case("slice", lambda m, x: m.slice(x, (1, 0), (4, 3)), (5, 3)),
    case("slice_strided", lambda m, x: m.slice(x, (1, 0), (6, 3), (2, 3)), (7, 3)),
    case("slice_empty", lambda m, x: m.slice(x, (2, 0), (2, 3), (2, 1)), (5, 3)),
    case("slice_in_dim", lambda m, x: m.slice_in_dim(x, 1, -1, 2, axis=1), (2, 6)),
    case("index_in_dim", lambda m, x: m.index_in_dim(x, -1, 1, keepdims=False), (2, 3)),
    case("pad", lambda m, x, v: m.pad(x, v, ((1, 2, 0), (0, 0, 0))), (2, 3), ()),
    case("pad_interior", lambda m, x, v: m.pad(x, v, ((1, 0, 2), (0, 1, 1))), (2, 3), ()),
    case("pad_negative", lambda m, x, v: m.pad(x, v, ((-1, 2, 0), (-2, -1, 1))), (3, 4), ()),
    case("pad_empty", lambda m, x, v: m.pad(x, v, ((1, 1, 2), (0, 0, 0))), (0, 2), ()),
    case("pad_to_nothing", lambda m, x, v: m.pad(x, v, ((-1, -1, 0),)), (2,), ()),
    case("pad_scalar", lambda m, x, v: m.pad(x, v, ()), (), ()),
    case("concatenate", lambda m, x, y, z: m.concatenate([x, y, z], 1), (2, 3), (2, 0), (2, 1)),
    case("split", lambda m, x: list(m.split(x, (1, 0, 3), 1)), (2, 4)),
    case("rev", lambda m, x: m.rev(x, (0, 2)), (2, 3, 2)),
    case("tile", lambda m, x: m.tile(x, (2, 1, 3)), (2, 3, 1)),
    case("reduce_sum", lambda m, x: m.reduce_sum(x, (0, 2)), (2, 3, 2)),
    case("reduce_sum_all", lambda m, x: m.reduce_sum(x, (0, 1)), (2, 3)),
    case("reduce_sum_empty", lambda m, x: m.reduce_sum(x, (0,)), (0, 3)),
    case("optimization_barrier", lambda m, x, y: list(m.optimization_barrier((x, y))), (2, 3), ()),
    case("select_n_one", lambda m, x: m.select_n(np.array([True, False]), x), (2,)),
    case("select_n_scalar", lambda m, x, y: m.select_n(np.bool_(True), x, y), (2, 3), (2, 3)),
    case("select_n", lambda m, x, y: m.select_n(np.array([[True], [False]]), x, y), (2, 1), (2, 1)),
    case(
        "select_n_five",
        lambda m, *xs: m.select_n(np.array([[0, 1, 4, 3]], np.int32), *xs),
        *[(1, 4)] * 5,
    ),
    case("select_n_number", lambda m, *xs: m.select_n(np.int32(2), *xs), (3,), (3,), (3,)),
    case("select", lambda m, x, y: m.select(np.array([True, False]), x, y), (2,), (2,)),
    case("copy", lambda m, x: m.reshape(x, (6,)), (2, 3)),
    case("full_like", lambda m, x: m.full_like(x, 3), (2, 3)),
    case("bitcast", lambda m, x: m.bitcast_convert_type(x, x.dtype), (2, 3)),
]
LINEAR = [c for c in CASES if c.name not in ("full_like", "bitcast")]
EDGES = [
    c for c in CASES if c.name.endswith(("_empty", "_empty_stretched", "_nothing", "_one", "pad_scalar", "to_scalar"))
]


def check_all_against_jax(calls: dict[str, tuple[Callable[..., Any], list[Any]]]) -> None:
    """Functions of a module and of arguments give what they give in jax, all of them in one program of each."""
    jax = pytest.importorskip("jax")

    def run(lax: Any) -> Callable[..., Any]:
        return lambda inputs: {name: calls[name][0](lax, *args) for name, args in inputs.items()}

    inputs = {name: args for name, (_, args) in calls.items()}
    outs, wants = px.jit(run(S))(inputs), jax.jit(run(jax.lax))(inputs)
    for name in calls:
        found, expected = (jax.tree.leaves(x[name]) for x in (outs, wants))
        for out, want in zip(found, expected, strict=True):
            assert_close(out, np.asarray(want), what=name)
            assert out.weak_type == want.weak_type, name


DTYPES = [
    "float32", "bfloat16", "int32", "complex64", "bool", "uint8", "float16", "float64", "int4", "float8_e4m3fn",
    "complex128",
]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_values_are_those_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    cases = [c for c in CASES if not (c.name.startswith("reduce_sum") and name in ("bool", "float8_e4m3fn"))]
    wide = name in ("float64", "complex128")
    with px.enable_x64(wide), jax.enable_x64(wide):
        check_all_against_jax({c.name: (c.call, c.args(dtype)) for c in cases})


@pytest.mark.parametrize("case", EDGES, ids=str)
def test_derivatives_at_edges_are_those_of_finite_differences(case: Case) -> None:
    check_grad(lambda *xs: case.call(S, *xs), *case.args(np.float64), rtol=1e-9)


@pytest.mark.parametrize("case", EDGES, ids=str)
def test_mapping_at_edges_is_a_loop(case: Case) -> None:
    check_batch(lambda *xs: case.call(S, *xs), *case.args(np.float32))


@pytest.mark.parametrize("case", LINEAR, ids=str)
def test_programs_are_no_longer_than_those_of_jax(case: Case) -> None:
    jax = pytest.importorskip("jax")
    args = case.args(np.float32)
    ours = equations(lambda *xs: case.call(S, *xs), *args)
    theirs = [e.primitive.name for e in jax.make_jaxpr(lambda *xs: case.call(jax.lax, *xs))(*args).jaxpr.eqns]
    assert set(ours) <= {*theirs, "transpose"}
    assert len(ours) <= len(theirs) + (case.name == "reshape_dimensions")


# Conversion


CONVERTIBLE = [
    "bool", "int4", "uint4", "int8", "int32", "uint8", "uint32", "float8_e5m2", "float16", "bfloat16",
    "float32", "complex64",
]  # fmt: skip


@pytest.mark.parametrize("old", CONVERTIBLE)
def test_conversions_are_those_of_jax(old: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, old, old))
    x = np.array([0, 1, 2, 3, 5, 7]).astype(dtype)
    if dtype.kind in "fc":
        x = x + np.array(0.7, dtype)
    if dtype.kind == "c":
        x = x * (1 - 1j)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        check_all_against_jax({new: (_conversion(new), [x]) for new in CONVERTIBLE})


def _conversion(new: str) -> Callable[..., Any]:
    target = np.dtype(getattr(ml_dtypes, new, new))
    return lambda m, x: m.convert_element_type(x, target)


@pytest.mark.parametrize("old", ["int64", "uint64", "float64", "complex128"])
def test_conversions_of_64_bits_are_those_of_jax(old: str) -> None:
    jax = pytest.importorskip("jax")
    kinds = ("int8", "uint64", "float16", "float64", "complex128")
    with px.enable_x64(True), jax.enable_x64(True):
        wide = [new for new in kinds if old != "complex128" or new == "complex128"]
        check_all_against_jax({new: (_conversion(new), [np.array([0, 3, 5], old)]) for new in wide})


@pytest.mark.parametrize("x", [True, 3, -2.5, 2 + 1j, np.float16(1.5), np.arange(3.0)])
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "bfloat16", float])
def test_converting_host_values_is_the_same_traced_and_not(x: Any, dtype: Any) -> None:
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        outs = [S.convert_element_type(x, dtype), px.jit(lambda: S.convert_element_type(x, dtype))()]
    for out in outs:
        assert type(out) is px.Array
        assert out.aval == outs[0].aval
        assert not out.weak_type
        assert_close(out, np.asarray(outs[0]))


def test_converting_to_the_dtype_it_has_makes_no_equation() -> None:
    x = np.float32([1, 2])
    assert equations(lambda x: S.convert_element_type(x, np.float32), x) == []
    assert equations(lambda x: S.convert_element_type(x, np.float32), 1.0) == ["convert_element_type"]
    y = S.full((2,), 1.0, np.float32)
    assert S.convert_element_type(y, "float32") is y


def test_conversion_between_inexact_dtypes_is_linear() -> None:
    check_grad(lambda x: S.convert_element_type(x, np.complex128), np.arange(3.0))
    with pytest.warns(np.exceptions.ComplexWarning):
        check_grad(lambda x: S.convert_element_type(x, np.float64), np.arange(3.0) + 1j)
    primal, tangent = px.jvp(lambda x: S.convert_element_type(x, "bfloat16"), (np.float32(1),), (np.float32(2),))
    assert primal.dtype == tangent.dtype == ml_dtypes.bfloat16
    _, pull_back = px.vjp(lambda x: S.convert_element_type(x, "bfloat16"), np.float32(1))
    assert pull_back(ml_dtypes.bfloat16(3))[0].dtype == np.float32


def test_conversion_to_an_integer_has_no_derivative() -> None:
    _, tangent = px.jvp(lambda x: S.convert_element_type(x, np.int32), (1.5,), (1.0,))
    assert tangent.dtype == px.float0
    assert px.grad(lambda x: S.convert_element_type(S.convert_element_type(x, np.int32), np.float32))(1.5) == 0


def test_dropping_an_imaginary_part_warns() -> None:
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary"):
        assert S.convert_element_type(S.full((), 2 + 1j), np.float32) == 2
    assert S.convert_element_type(S.full((), 1j), bool)


def test_64_bits_are_refused_with_a_warning_unless_enabled() -> None:
    with px.enable_x64(False), pytest.warns(UserWarning, match="float64"):
        assert S.convert_element_type(1.0, np.float64).dtype == np.float32
    with px.enable_x64(True):
        assert S.convert_element_type(1.0, np.float64).dtype == np.float64
        assert S.full((2,), 1.0, float).dtype == np.float64


@pytest.mark.parametrize(
    ("old", "new", "shape"),
    [
        ("float32", "int32", (2, 3)),
        ("float32", "uint8", (2, 3)),
        ("float32", "uint8", ()),
        ("uint8", "float32", (2, 3, 4)),
        ("uint8", "float32", (4,)),
        ("int8", "int4", (3,)),
        ("bfloat16", "uint16", (3,)),
    ],
)
def test_bits_are_read_as_jax_reads_them(old: str, new: str, shape: tuple[int, ...]) -> None:
    lax = pytest.importorskip("jax").lax
    x = array(*shape, dtype=np.dtype(getattr(ml_dtypes, old, old)))
    target = np.dtype(getattr(ml_dtypes, new, new))
    check_against_jax(lambda x: S.bitcast_convert_type(x, target), lambda x: lax.bitcast_convert_type(x, target), x)
    check_batch(lambda x: S.bitcast_convert_type(x, target), x)


# Creation


@pytest.mark.parametrize("fill", [True, 3, 2.5, 1 - 2j, -0.0, float("nan"), 1e40, -(2**31)])
@pytest.mark.parametrize("dtype", [None, "float32", "int8", "bfloat16", "complex64", "bool"])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_full_is_that_of_jax(fill: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    lax = pytest.importorskip("jax").lax
    if isinstance(fill, complex) and dtype not in (None, "complex64", "bool"):
        return
    if dtype == "int8" and not (isinstance(fill, bool) or abs(fill) < 100):
        return  # NumPy refuses, NaN has no integer
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        want = lax.full(shape, fill, dtype)
        outs = [S.full(shape, fill, dtype), px.jit(lambda: S.full(shape, fill, dtype))()]
    for out in outs:
        assert_close(out, want)
        assert np.array_equal(*[np.signbit(np.asarray(x).real) for x in (out, want)])
        assert out.weak_type == want.weak_type


def test_full_like_keeps_what_is_not_given() -> None:
    lax = pytest.importorskip("jax").lax
    for x in (1.5, np.int8(3), np.ones((2, 3), np.float16)):
        for kwargs in ({}, {"dtype": np.int32}, {"shape": (4,)}):
            check_against_jax(
                lambda x, k=kwargs: S.full_like(x, 2, **k), lambda x, k=kwargs: lax.full_like(x, 2, **k), x
            )
    assert S.zeros_like(np.ones((2,), np.int8)).aval == core.ShapedArray((2,), np.int8)
    assert S.ones_like(2.0).aval == core.get_aval(2.0)


def test_full_is_one_equation() -> None:
    assert equations(lambda: S.full((2,), 1)) == ["broadcast_in_dim"]
    assert equations(lambda: S.full((2,), 1, np.float32)) == ["broadcast_in_dim"]
    assert equations(lambda: S.full((), 1, np.float32)) == []
    assert equations(lambda x: S.full_like(x, 1), np.float32([1])) == ["broadcast_in_dim"]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64", "float16", "int4"])
def test_iota_counts(dtype: str) -> None:
    lax = pytest.importorskip("jax").lax
    d = np.dtype(getattr(ml_dtypes, dtype, dtype))
    check_against_jax(lambda: S.iota(d, 5), lambda: lax.iota(d, 5))
    check_against_jax(lambda: S.broadcasted_iota(d, (2, 3), 1), lambda: lax.broadcasted_iota(d, (2, 3), 1))
    assert S.iota(d, 0).shape == (0,)


@given(st.lists(st.lists(st.sampled_from([1, 1, 2, 3]), max_size=4), max_size=4))
@settings(max_examples=60)
def test_broadcast_shapes_is_that_of_numpy(shapes: list[list[int]]) -> None:
    try:
        want = np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        with pytest.raises(ValueError, match="broadcast_shapes got incompatible shapes"):
            S.broadcast_shapes(*shapes)
    else:
        assert S.broadcast_shapes(*shapes) == want


# Identities


def test_copy_has_memory_of_its_own() -> None:
    x = S.full((4,), 1.0)
    assert S.copy(x).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert equations(S.copy, 1.0) == ["copy"]


def test_stop_gradient_is_a_constant_to_every_derivative() -> None:
    x = S.full((2,), 3.0)
    assert S.stop_gradient(x) is x
    assert type(S.stop_gradient(np.float32(1))) is px.Array
    assert S.stop_gradient(np.array(1, np.int64)).dtype == px.dtypes.canonicalize_dtype(np.int64)
    assert S.stop_gradient(1.0).weak_type
    assert equations(S.stop_gradient, 1.0) == ["stop_gradient"]
    assert equations(S.stop_gradient, 1) == []
    _, tangent = px.jvp(S.stop_gradient, (2.0,), (1.0,))
    assert tangent == 0
    assert px.grad(lambda x: S.reduce_sum(S.stop_gradient({"a": x})["a"], (0,)))(x).tolist() == [0, 0]
    assert px.grad(px.jit(lambda x: S.reduce_sum(S.stop_gradient(x), (0,))))(x).tolist() == [0, 0]
    # Traced first and differentiated afterwards, it still stops.
    closed = px.make_jaxpr(S.stop_gradient)(2.0)
    _, tangent = px.jvp(lambda x: core.jaxpr_as_fun(closed)(x)[0], (2.0,), (1.0,))
    assert tangent == 0


def test_optimization_barrier_keeps_the_structure_and_passes_only_nonzero_tangents() -> None:
    out = S.optimization_barrier({"a": 1.0, "b": (np.arange(2), None)})
    assert out["b"][0].tolist() == [0, 1]
    assert out["b"][1] is None
    assert S.optimization_barrier(()) == ()

    def f(x: Any) -> Any:
        return px.jvp(lambda x: S.optimization_barrier((x, np.ones(3), 2)), (x,), (x,))

    eqns = px.make_jaxpr(f)(1.0).jaxpr.eqns
    barriers = [eqn for eqn in eqns if eqn.primitive is S.optimization_barrier_p]
    assert [len(eqn.invars) for eqn in barriers] == [3, 1]


# Sums and shapes of cotangents


@pytest.mark.parametrize(
    ("small", "large"), [((), (2, 3)), ((1, 3), (2, 3)), ((3,), (2, 3)), ((2, 3), (2, 3)), ((1,), (4, 2, 3))]
)
def test_unbroadcast_is_the_adjoint_of_broadcasting(small: tuple[int, ...], large: tuple[int, ...]) -> None:
    ct = np.arange(int(np.prod(large)), dtype=np.float32).reshape(large)
    out = S.unbroadcast(core.ShapedArray(small, np.float32), ct)
    x = np.random.default_rng(0).normal(size=small)
    assert np.shape(out) == small
    assert np.isclose(np.sum(np.broadcast_to(x, large) * ct), np.sum(x * np.asarray(out)))


def test_select_n_of_a_batch_of_predicates_repeats_them_along_the_cases() -> None:
    x = array(2, 3)
    check_batch(lambda w, x, y: S.select_n(w, x, y), np.bool_(True), x, -x, vary=_vary_predicate)
    check_batch(lambda w, x, y: S.select_n(w, x, y), x > 3, x, -x, vary=_vary_predicate)
    check_batch(lambda w, x, y: S.select_n(w, x, y), np.int32(1), x[0, 0], -x[0, 0], vary=_vary_predicate)
    check_batch(lambda w, x, y: S.select_n(w, x, y), np.bool_(True), x[:0], -x[:0], most=2)


def _vary_predicate(x: Any, k: int) -> Any:
    x = np.asarray(x)
    if x.dtype == bool:
        return x ^ (k == 1)
    return x * (k % 2) if x.dtype == np.int32 else x + k


def test_a_shape_of_one_axis_may_be_an_int() -> None:
    x = np.ones((2, 3), np.float32)
    assert px.lax.full(2, 1.5).tolist() == [1.5, 1.5]
    assert px.lax.full_like(x, 3, shape=2).tolist() == [3, 3]
    assert px.lax.broadcasted_iota("int32", 3, 0).tolist() == [0, 1, 2]
    assert px.lax.reshape(x, 6).shape == (6,)
    with pytest.raises(TypeError, match=r"full: shape must consist of non-negative integers, got \(-1,\)"):
        px.lax.full(-1, 1.5)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**40 + 300, 2**63, 2**70])
def test_python_ints_of_any_size_are_converted_as_in_jax(number) -> None:
    jax = pytest.importorskip("jax")
    for dtype in ("bool", "int8", "uint32", "int32", "float16", "bfloat16", "float32", "complex64", float):
        if number == 2**70 and dtype in ("int8", "uint32", "int32"):
            with pytest.raises(OverflowError, match="convert_element_type: operand must fit 64 bits to become"):
                px.lax.convert_element_type(number, dtype)
            continue
        got = px.lax.convert_element_type(number, dtype)
        if number == 2**70 and dtype == "bfloat16":
            assert float(got) == 2.0**70  # jax has an error of NumPy's there
            continue
        with np.errstate(over="ignore"):
            want = jax.lax.convert_element_type(number, dtype)
        assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)
        np.testing.assert_array_equal(got, want)


def test_select_n_of_python_scalars_is_weak() -> None:
    lax = pytest.importorskip("jax").lax
    check_against_jax(lambda: S.select_n(True, 1.0, 2.0), lambda: lax.select_n(True, 1.0, 2.0))
    assert not S.select_n(True, 1.0, S.full((), 2, float)).weak_type


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32"])
def test_select_n_takes_any_integers(dtype: str) -> None:
    which = np.array([0, 1, 2, 77, 255], np.uint8).astype(dtype)
    cases = [np.full(5, i, np.float32) for i in range(3)]
    last = 0.0 if dtype == "int8" else 2.0
    f = px.jit(lambda which: (S.select_n(which, *cases), S.select_n(which, *cases[:2]), S.select_n(which, cases[1])))
    three, two, one = f(which)
    assert three.tolist() == [0, 1, 2, 2, last]
    assert two.tolist() == [0, 1, 1, 1, min(last, 1)]
    assert one.tolist() == [1, 1, 1, 1, 1]
    tangent = px.jvp(lambda x: S.select_n(which, cases[0], x, x), (cases[1],), (cases[2],))[1]
    assert tangent.tolist() == [0, 2, 2, 2, last]
    if dtype == "int8":  # which cannot name the cases from 128
        many = px.jit(lambda i: S.select_n(i, *range(130)))
        assert [int(many(np.int8(i))) for i in (0, 127, -1)] == [0, 127, 0]


def test_a_case_without_a_tangent_is_zero() -> None:
    x, y = np.float32([1, 2]), np.float32([3, 4])
    which = np.array([False, True])
    out, tangent = px.jvp(lambda x: S.select_n(which, x, y), (x,), (x,))
    assert out.tolist() == [1, 4]
    assert tangent.tolist() == [1, 0]


def test_broadcast_in_dim_permutes_axes():
    x = np.arange(3, dtype=np.int32).reshape(3, 1)
    want = np.broadcast_to(x.T[:, :, None], (2, 3, 4))

    def broadcast(x):
        return S.broadcast_in_dim(x, (2, 3, 4), (1, 0))

    np.testing.assert_array_equal(broadcast(x), want)
    np.testing.assert_array_equal(px.jit(broadcast)(x), want)
    np.testing.assert_array_equal(px.vmap(broadcast)(x[None]), want[None])
    assert px.grad(lambda x: broadcast(x).sum())(x.astype(np.float32)).tolist() == [[8], [8], [8]]


# Errors: the function, the argument, and both numbers


F32 = np.ones((2, 3), np.float32)
ERRORS = [
    (TypeError, r"broadcast_in_dim: broadcast_dimensions must have one entry per axis.*1 in \(0,\)",
     lambda: S.broadcast_in_dim(F32, (2, 3), (0,))),
    (TypeError, r"broadcast_in_dim: broadcast_dimensions must increase.*\(1, 1\)",
     lambda: S.broadcast_in_dim(F32, (2, 3), (1, 1))),
    (TypeError, r"broadcast_in_dim: broadcast_dimensions must be different axes among the 2.*\(2, 0\)",
     lambda: S.broadcast_in_dim(F32, (2, 3), (2, 0))),
    (TypeError, r"broadcast_in_dim: axes of operand.*3 in axis 1 of f32\[2,3\] and 4 in axis 1",
     lambda: S.broadcast_in_dim(F32, (2, 4), (0, 1))),
    (TypeError, r"broadcast_in_dim: shape must consist of non-negative integers, got \(2, -3\)",
     lambda: S.broadcast_in_dim(F32, (2, -3), (0, 1))),
    (TypeError, r"broadcast_in_dim: shape must be a sequence of integers, got \(2, 1.5\)",
     lambda: S.broadcast_in_dim(F32, (2, 1.5), (0, 1))),
    (TypeError, r"reshape: new_sizes must have as many elements as operand, got 8 in .* and 6 in f32",
     lambda: S.reshape(F32, (2, 4))),
    (TypeError, r"reshape: new_sizes must consist of non-negative integers, got \(-1,\)",
     lambda: S.reshape(F32, (-1,))),
    (ValueError, r"reshape: dimensions must be distinct, got \(0, 0\)", lambda: S.reshape(F32, (6,), (0, 0))),
    (ValueError, r"reshape: dimensions must be a permutation of 2 axes, got \(0,\)",
     lambda: S.reshape(F32, (6,), (0,))),
    (TypeError, r"transpose: permutation must be one of the 2 axes.*\(0,\) for f32\[2,3\]",
     lambda: S.transpose(F32, (0,))),
    (ValueError, r"squeeze: dimensions must be axes of length 1, got axis 1 of length 3",
     lambda: S.squeeze(F32, (1,))),
    (ValueError, r"squeeze: dimensions must be in \[-2, 2\), got 2", lambda: S.squeeze(F32, (2,))),
    (ValueError, r"expand_dims: dimensions must be distinct", lambda: S.expand_dims(F32, (0, -4))),
    (ValueError, r"collapse: stop_dimension must not come before start_dimension, got 0 and 1",
     lambda: S.collapse(F32, 1, 0)),
    (ValueError, r"collapse: stop_dimension must be in \[-2, 2\], got 3", lambda: S.collapse(F32, 1, 3)),
    (TypeError, r"reduce_sum: operand must be an array of numbers, got bool\[2,3\]",
     lambda: S.reduce_sum(F32 > 0, (0,))),
    (ValueError, r"reduce_sum: axes must be distinct", lambda: S.reduce_sum(F32, (0, 0))),
    (ValueError, r"reduce_sum: axes must not be negative, got \(-1,\)", lambda: S.reduce_sum(F32, (-1,))),
    (TypeError, r"slice: start_indices must have one entry per axis.*got 1",
     lambda: S.slice(F32, (0,), (2, 3))),
    (TypeError, r"slice: bounds must satisfy 0 <= start <= limit <= 3 in axis 1, got start 0 and limit 4",
     lambda: S.slice(F32, (0, 0), (2, 4))),
    (TypeError, r"slice: bounds.*got start 2 and limit 1", lambda: S.slice(F32, (2, 0), (1, 3))),
    (TypeError, r"slice: strides must be positive, got 0 in axis 0",
     lambda: S.slice(F32, (0, 0), (2, 3), (0, 1))),
    (IndexError, r"index_in_dim: index must be in \[-3, 3\) along axis 1, got 3",
     lambda: S.index_in_dim(F32, 3, 1)),
    (ValueError, r"slice_in_dim: axis must be in \[-2, 2\), got 2", lambda: S.slice_in_dim(F32, 0, 1, 1, 2)),
    (TypeError, r"pad: padding_value must have the dtype of operand, got i32\[\] for f32\[2,3\]",
     lambda: S.pad(F32, np.int32(0), ((0, 0, 0), (1, 0, 0)))),
    (TypeError, r"pad: padding_value must be a scalar, got f32\[2,3\]",
     lambda: S.pad(F32, F32, ((0, 0, 0), (1, 0, 0)))),
    (TypeError, r"pad: padding_config must have one triple per axis of operand, got 1",
     lambda: S.pad(F32, 0.0, ((1, 0, 0),))),
    (TypeError, r"pad: padding_config must be a sequence of triples",
     lambda: S.pad(F32, 0.0, ((1, 0), (0, 0)))),
    (ValueError, r"pad: interior padding must not be negative, got -1 in axis 0",
     lambda: S.pad(F32, 0.0, ((0, 0, -1), (0, 0, 0)))),
    (ValueError, r"pad: padding_config must not crop.*\(-1, -2, 0\) in axis 0 of length 2.*leaves -1",
     lambda: S.pad(F32, 0.0, ((-1, -2, 0), (0, 0, 0)))),
    (TypeError, r"concatenate: operands must be one array or more", lambda: S.concatenate([], 0)),
    (TypeError, r"concatenate: operands must have the same dtype, got f32.* for operand 0 and i32.* for operand 1",
     lambda: S.concatenate([F32, F32.astype(np.int32)], 0)),
    (TypeError, r"concatenate: operands must have the same shape, except along axis 0.*\(2, 3\).*\(3, 2\)",
     lambda: S.concatenate([F32, F32.T], 0)),
    (ValueError, r"concatenate: dimension must be in \[0, 2\), got 2", lambda: S.concatenate([F32, F32], 2)),
    (TypeError, r"concatenate: operands must have rank 1 or more", lambda: S.concatenate([1.0, 2.0], 0)),
    (ValueError, r"split: sizes must add up to the length of axis 1, got 4 for \(2, 2\) and 3",
     lambda: S.split(F32, (2, 2), 1)),
    (TypeError, r"split: sizes must consist of non-negative integers", lambda: S.split(F32, (4, -1), 1)),
    (ValueError, r"rev: dimensions must be in \[-2, 2\), got 2", lambda: S.rev(F32, (2,))),
    (TypeError, r"tile: reps must have one entry per axis of operand, got 1", lambda: S.tile(F32, (2,))),
    (TypeError, r"select_n: cases must be one array or more", lambda: S.select_n(True)),
    (TypeError, r"select_n: cases must have the same shape, got f32\[2,3\] for case 0 and f32\[3,2\] for case 1",
     lambda: S.select_n(True, F32, F32.T)),
    (TypeError, r"select_n: cases must have the same dtype, got f32\[2,3\] for case 0 and i32\[2,3\] for case 1",
     lambda: S.select_n(True, F32, F32.astype(np.int32))),
    (TypeError, r"select_n: which must be a scalar or have the shape of the cases, \(2, 3\), got \(2,\)",
     lambda: S.select_n(np.array([True, False]), F32, F32)),
    (TypeError, r"select_n: which must be integers where there are more than 2 cases, got bool\[\] for 3 cases",
     lambda: S.select_n(True, F32, F32, F32)),
    (TypeError, r"select_n: which must be boolean or integers, got f32\[\]",
     lambda: S.select_n(np.float32(1), F32, F32)),
    (TypeError, r"full: fill_value must be a scalar, got f32\[2,3\]", lambda: S.full((2,), F32)),
    (TypeError, r"full: shape must be a sequence of integers, got 2.0", lambda: S.full(2.0, 0)),
    (TypeError, r"iota: dtype must be a number, got bool", lambda: S.iota(bool, 3)),
    (ValueError, r"broadcasted_iota: dimension must be in \[-1, 1\), got 1",
     lambda: S.broadcasted_iota(np.int32, (3,), 1)),
    (TypeError, r"convert_element_type: new_dtype must be a bool, number",
     lambda: S.convert_element_type(1, "spam")),
    (TypeError, r"convert_element_type: new_dtype must be a bool, number",
     lambda: S.convert_element_type(1, [])),
    (TypeError, r"bitcast_convert_type: dtypes must be integers or floats, got new_dtype int32 for c64\[\]",
     lambda: S.bitcast_convert_type(np.complex64(1), np.int32)),
    (TypeError, r"bitcast_convert_type: the last axis of operand must have length 4.*u8\[3\]",
     lambda: S.bitcast_convert_type(np.ones(3, np.uint8), np.float32)),
    (ValueError, r"broadcast_shapes got incompatible shapes.*axis -1 has 2 and 3",
     lambda: S.broadcast_shapes((2,), (3,))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), ERRORS, ids=[message[:40] for _, message, _ in ERRORS])
def test_wrong_arguments_are_named(kind: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=message):
        call()
    with pytest.raises(kind, match=message):
        px.make_jaxpr(call)()


def test_a_traced_shape_is_refused_as_such() -> None:
    with pytest.raises(TypeError, match="must be known before tracing"):
        px.jit(lambda n: S.full((n,), 0.0))(3)
    with pytest.raises(TypeError, match="must be known before tracing"):
        px.jit(lambda n: S.slice_in_dim(np.ones(3), 0, n))(3)


def test_numpy_integers_are_integers() -> None:
    x = S.reshape(F32, (np.int64(3), np.int8(2)))
    assert x.shape == (3, 2)
    assert all(type(n) is int for n in px.make_jaxpr(lambda x: S.reshape(x, (np.int64(3), 2)))(F32).out_avals[0].shape)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: S.reshape(x, (2, 3)), lambda x: S.transpose(x, (0, 1)), lambda x: S.squeeze(x, ()),
        lambda x: S.expand_dims(x, ()), lambda x: S.broadcast(x, ()), lambda x: S.rev(x, ()),
        lambda x: S.tile(x, (1, 1)), lambda x: S.pad(x, 0.0, ((0, 0, 0), (0, 0, 0))),
        lambda x: S.concatenate([x], 0),
        lambda x: S.slice(x, (0, 0), (2, 3)), lambda x: S.slice(x, (0, 0), (2, 3), (1, 1)),
        lambda x: S.broadcast_in_dim(x, (2, 3), (0, 1)), lambda x: S.reduce_sum(x, ()),
        lambda x: S.collapse(x, 1, 2),
    ],
)  # fmt: skip
def test_doing_nothing_makes_no_equation(call: Callable[[Any], Any]) -> None:
    assert equations(call, F32) == []
    x = S.copy(F32)
    assert call(x) is x
    assert type(call(F32)) is px.Array or np.shares_memory(call(F32), F32) is False


# The array protocol


def test_interpreters_find_zeros_sums_and_axes() -> None:
    from primax.core.array_protocol import protocol_of

    aval = core.ShapedArray((2, 3), np.float32)
    protocol = protocol_of(aval)
    x = S.reshape(S.iota(np.float32, 6), (2, 3))
    assert_close(protocol.zeros(aval), np.zeros((2, 3), np.float32))
    assert protocol.zeros(core.ShapedArray((), np.float32, weak_type=True)).weak_type
    assert_close(protocol.add(x, x), np.asarray(x) * 2)
    assert_close(protocol.broadcast(x, 4, 1), np.broadcast_to(np.asarray(x)[:, None], (2, 4, 3)))
    assert_close(protocol.moveaxis(x, 0, 1), np.asarray(x).T)
    assert_close(protocol.convert(x, core.ShapedArray((2, 3), np.int32)), np.asarray(x).astype(np.int32))
    assert protocol.convert(x, aval) is x
    assert_close(protocol.index(x, 1, 1), np.asarray(x)[:, 1])


def test_small_names_of_lax_mean_what_they_mean_in_jax() -> None:
    x = np.arange(3, dtype=np.float32)
    assert px.lax.empty((2, 3), np.int8).shape == (2, 3)
    assert px.lax.empty(4, np.float32).dtype == np.float32
    assert np.asarray(px.lax.shape_as_value((2, 3))).tolist() == [2, 3]
    assert px.lax.broadcast_to_rank(x, 3).shape == (1, 1, 3)
    assert np.asarray(px.lax.broadcast_like(x, np.zeros((2, 3)))).tolist() == [[0, 1, 2]] * 2
    assert px.lax.dtype(x) == np.float32
    with pytest.raises(ValueError, match="broadcast_to_rank: rank must be at least 1, the rank of x, got 0"):
        px.lax.broadcast_to_rank(x, 0)
    with pytest.raises(ValueError, match=r"broadcast_like: .* shape of like_arr, \(2,\), got \(3,\)"):
        px.lax.broadcast_like(x, np.zeros(2))


def test_stacks_are_taken_apart_again() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    for axis in (0, 1, -1):
        stacked = px.lax.stack([x, y], axis)
        assert np.asarray(stacked).tolist() == np.stack([x, y], axis).tolist()
        first, second = px.lax.unstack(stacked, axis)
        assert np.asarray(first).tolist() == x.tolist()
        assert np.asarray(second).tolist() == y.tolist()
    assert px.lax.unstack(np.zeros((0, 2))) == ()
    with pytest.raises(TypeError, match="stack: operands must be a sequence of arrays, got range"):
        px.lax.stack(range(10**5))
    with pytest.raises(ValueError, match="stack: operands must hold an array, got none"):
        px.lax.stack([])
    with pytest.raises(TypeError, match=r"the same shape and dtype, got f32\[2,3\] .* f32\[3\] for operand 1"):
        px.lax.stack([np.float32(x), np.float32(x[0])])
    with pytest.raises(ValueError, match=r"unstack: axis must be in \[-2, 2\), got 2"):
        px.lax.unstack(x, 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_rows_of_one_array_are_stacked_as_they_lie(axis: int) -> None:
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for rows in (x, px.numpy.asarray(x)):
        found = px.lax.stack(rows, axis)
        assert type(found) is px.Array
        np.testing.assert_array_equal(found, np.stack(list(x), axis))
    assert px.lax.stack(np.broadcast_to(np.float32(1), (4096, 2))).shape == (4096, 2)
    with pytest.raises(ValueError, match="stack: operands must hold an array"):
        px.lax.stack(x[:0])


@pytest.mark.parametrize("name", [*OF_FLOATS, *OF_INTEGERS, "betainc"])
def test_axes_of_size_1_are_as_long_as_those_of_the_other_operand_at_equal_rank(name: str) -> None:
    function = getattr(px.lax, name)
    one, many = np.arange(1, 4).reshape(1, 3), np.arange(2, 8).reshape(2, 3)
    if name not in OF_INTEGERS:
        one, many = one.astype(np.float32), many.astype(np.float32)
    half = (np.full((2, 1), 0.5, np.float32),) if name == "betainc" else ()
    compiled = px.jit(function)
    for x, y in ((one, many), (many, one), (many[:, :1], one)):
        wide = [np.ascontiguousarray(np.broadcast_to(v, (2, 3))) for v in (x, y, *half)]
        np.testing.assert_allclose(compiled(x, y, *half), function(*wide), rtol=1e-5)
    want = np.asarray(compiled(one, many, *half))
    np.testing.assert_allclose(function(one, many, *half), want, rtol=1e-5)
    mapped = px.jit(px.vmap(lambda v: function(v, many, *half)))(one[None])
    np.testing.assert_allclose(mapped, want[None], rtol=1e-5)
    with pytest.raises((TypeError, ValueError), match=r"incompatible shapes for broadcasting: \(1, 2\), \(2, 3\)"):
        function(one[:, :2], many, *half)


def test_the_derivative_along_an_axis_of_size_1_is_a_sum() -> None:
    one, many = array(1, 3), array(2, 3)
    np.testing.assert_allclose(px.grad(lambda x: px.lax.mul(x, many).sum())(one), many.sum(0, keepdims=True))


def test_a_barrier_gives_each_operand_at_its_place():
    found = px.jit(px.lax.optimization_barrier)({"a": np.float32(1), "b": [np.float32(2), np.float32(3)]})
    assert px.tree.map(float, found) == {"a": 1.0, "b": [2.0, 3.0]}


@pytest.mark.parametrize("dimension", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 2, 4), (1, 2, 2), (2, 0, 3)])
def test_the_rows_of_one_array_are_concatenated_as_a_sequence_of_them(shape: Any, dimension: int) -> None:
    whole = array(*shape)
    for of_rows in (whole, px.numpy.asarray(whole)):
        np.testing.assert_array_equal(S.concatenate(of_rows, dimension), np.concatenate(list(whole), dimension))
    check_grad(lambda x: S.concatenate(x, dimension), [whole])


def test_rows_of_one_array_are_refused_as_a_sequence_of_them_is() -> None:
    with pytest.raises(TypeError, match="concatenate: operands must be one array or more, got none"):
        S.concatenate(np.ones((0, 2)), 0)
    with pytest.raises(TypeError, match="concatenate: operands must have rank 1 or more"):
        S.concatenate(np.ones(2), 0)
    with pytest.raises(ValueError, match=r"concatenate: dimension must be in \[-1, 1\), got 1|in \[0, 1\), got 1"):
        S.concatenate(np.ones((2, 2)), 1)


@pytest.mark.parametrize("join", [S.concatenate, S.stack])
def test_rows_too_large_for_memory_are_refused_before_one_is_copied(join: Any) -> None:
    terabytes = np.broadcast_to(np.float32(1), (2**12, 2**30))
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        join(terabytes, 0)


def test_vmap_selects_among_numbers_by_several_predicates() -> None:
    """As in JAX, where only the mapped function accepts them."""
    x = np.arange(6, dtype=np.int32).reshape(3, 2)

    def choose(a: Any) -> Any:
        return px.lax.select(a <= 2, 0, 1)

    for in_axis, mapped in ((0, x), (1, x.T)):
        assert px.vmap(choose, in_axis)(mapped).tolist() == [[0, 0], [0, 1], [1, 1]]
    with pytest.raises(TypeError, match="which must be a scalar"):
        choose(x)
