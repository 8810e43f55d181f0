"""Making arrays, dtypes under NumPy's names, and ranges, against jax.numpy."""

from __future__ import annotations

import array
import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpycheck import agree, compare, refuses

import primax as px
import primax.numpy as pnp
from primax.extend.provisional import runtime
from primax.interpreters.runtime.devices import backends

SCALARS: list[Any] = [True, 3, 2.5, 1j, np.int8(3), np.float64(2.5), np.float16(1), np.bool_(True), np.uint64(7)]
SEQUENCES: list[Any] = [
    [1, 2],
    [1, 2.5],
    [[1, 2], [3, 4j]],
    (True, False),
    [True, 2],
    [np.int8(1), 2],
    [np.float16(1), 2.5],
    [np.ones(2, np.float16), [1, 2]],
    [],
    [[], []],
    [[[1]]],
    [(1, 2), [3, 4]],
    np.arange(3, dtype=np.int64),
    np.ones((2, 2), np.float64)[:, ::-1],
    np.array(2.0),
    np.zeros((0, 2), np.int16),
    array.array("d", [1.0, 2.0]),
    range(3),
]


def eagerly(function: Any, weak: bool = True) -> None:
    """Assert that a function of a module gives the same with primax.numpy and with jax.numpy."""
    jnp = pytest.importorskip("jax.numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(function(pnp), function(jnp), weak=weak)


@pytest.mark.parametrize("value", [*SCALARS, *SEQUENCES], ids=repr)
def test_arrays_of_host_values_agree_with_jax(value: Any) -> None:
    eagerly(lambda m: m.asarray(value))
    eagerly(lambda m: m.array(value))
    if not pnp.iscomplexobj(np.asarray(value)):
        eagerly(lambda m: m.array(value, dtype="float32", ndmin=3))
    compare({"traced": lambda m: m.asarray(value), "dtype": lambda m: m.array(value, dtype=bool)})


def test_arrays_of_arrays_agree_with_jax() -> None:
    x = np.arange(3, dtype=np.int8)
    compare(
        {
            "same": lambda m, x: m.asarray(x),
            "copy": lambda m, x: (m.array(x), m.copy(x), m.asarray(x, copy=True), x.copy()),
            "dtype": lambda m, x: (m.asarray(x, dtype="float32"), m.array(x, float), m.array(x, m.bfloat16)),
            "weak": lambda m, x: (m.asarray(m.asarray(2.0), dtype="float32"), m.asarray(m.asarray(2.0))),
            "ndmin": lambda m, x: m.array(x, ndmin=2),
            "list": lambda m, x: (m.array([x, x]), m.array([x[0], 1, 2.5]), m.asarray([[x[0]], [1]])),
        },
        x,
    )


@pytest.mark.usefixtures("narrow")
def test_what_is_no_array_is_refused() -> None:
    refuses(TypeError, "asarray: a must be an array or a number, got str", pnp.asarray, "a")
    refuses(TypeError, "asarray: a must be an array or a number, got NoneType", pnp.asarray, None)
    refuses(
        ValueError, "asarray: nested sequences must be of the same shape, got (2,) and (1,)", pnp.asarray, [[1, 2], [3]]
    )
    refuses(TypeError, "asarray: dtype must be", pnp.asarray, 1, dtype="nonsense")
    refuses(ValueError, "order must be", pnp.asarray, 1, order="X")
    refuses(OverflowError, "", pnp.asarray, 2**40)
    refuses(ValueError, "copy is False", pnp.asarray, np.ones(2), copy=False)


@pytest.mark.parametrize("copies", [pnp.asarray, pnp.array, pnp.astype, pnp.reshape])
def test_whether_to_copy_is_a_bool(copies):
    arguments = {pnp.astype: ("int32",), pnp.reshape: (2,)}.get(copies, ())
    for value in (pnp.ones(2, "int32"), np.ones(2, np.int32)):
        for wrong in (np.ones(3), "yes", [True]):
            refuses(
                TypeError,
                f"{copies.__name__}: copy must be a bool or None, got ",
                copies,
                value,
                *arguments,
                copy=wrong,
            )
        for copy_it in (True, np.True_, 1):
            assert copies(value, *arguments, copy=copy_it).tolist() == [1, 1]


def test_dtypes_that_are_asked_for_decide_what_fits() -> None:
    assert pnp.asarray(2**31, dtype="uint32") == np.uint32(2**31)
    assert pnp.array([2**31, 1], dtype="uint32").tolist() == [2**31, 1]
    most = 2**32 - 1
    x = pnp.zeros(1, "uint32")
    for full in (
        pnp.full(1, most, "uint32"),
        pnp.full_like(x, most),
        px.lax.full((1,), most, "uint32"),
        px.lax.full_like(x, most),
        px.lax.full((1,), -1, "uint32"),
        x.at[0].set(most),
    ):
        assert (full.dtype, full.tolist()) == (np.uint32, [most])
    assert (
        pnp.full(1, 2**40, "float32") == px.lax.full((1,), 2**40, "float32") == pnp.zeros(1).at[0].set(2**40) == 2**40
    )
    assert pnp.arange(most - 1, most, dtype="uint32").tolist() == [most - 1]
    assert pnp.arange(2**40, 2**40 + 2, dtype="float32").shape == (2,)
    with pytest.raises(OverflowError, match="must fit int"):
        pnp.full(1, 2**70, "uint32")
    refuses(OverflowError, "", pnp.asarray, 300, dtype="int8")
    refuses(TypeError, "", pnp.asarray, 1j, dtype="float32")


def test_copies_are_copies() -> None:
    x = pnp.arange(3.0)
    assert pnp.asarray(x) is x
    other = pnp.array(x)
    x.delete()
    assert other.tolist() == [0.0, 1.0, 2.0]
    host = np.ones(3)
    made = pnp.asarray(host)
    host[0] = 7
    assert made.tolist() == [1.0, 1.0, 1.0]


def test_constants_agree_with_jax() -> None:
    calls = {
        "zeros": lambda m: (m.zeros(3), m.zeros((2, 1), int), m.zeros((), bool), m.zeros([2], "bfloat16"), m.zeros(0)),
        "ones": lambda m: (m.ones(3), m.ones((2, 1), complex), m.ones(np.int32(2), m.uint8)),
        "empty": lambda m: m.empty((2, 2), "int8"),
        "full": lambda m: (m.full(3, 2), m.full((2, 2), 2.5), m.full(2, 1j), m.full((2,), 1.7, int), m.full((), True)),
        "full array": lambda m: (m.full((2, 3), m.arange(3)), m.full((2, 3), np.arange(3), "float32")),
        "full wrong": lambda m: m.full((2, 2), m.arange(3)),
        "like": lambda m: (m.zeros_like(2.5), m.ones_like(np.int8(2)), m.full_like(m.ones((2, 2), "int8"), 1.7)),
        "like others": lambda m: (
            m.zeros_like(m.ones(2), dtype=int),
            m.ones_like(m.ones(2), shape=(3,)),
            m.empty_like(3),
        ),
        "negative": lambda m: m.zeros((-1,)),
        "fraction": lambda m: m.zeros(2.5),
        "meshgrid": lambda m: (
            list(m.meshgrid(m.arange(2), m.arange(3.0))),  # newer releases of jax return tuples
            list(m.meshgrid(m.arange(2), m.arange(3), indexing="ij")),
        ),
        "sparse": lambda m: (list(m.meshgrid(m.arange(2), m.arange(3), sparse=True)), *m.meshgrid(m.arange(2))),
        "indices": lambda m: (m.indices((2, 3)), m.indices((2, 3), "float32"), m.indices((2, 3), sparse=True)),
        "fromfunction": lambda m: m.fromfunction(lambda i, j: i + 2 * j, (2, 3), dtype=int),
    }
    compare(calls)
    for name, call in calls.items():
        if name not in ("full wrong", "negative", "fraction"):
            eagerly(call)


def test_ranges_agree_with_jax() -> None:
    calls = {
        f"arange{args}": lambda m, args=args: m.arange(*args)
        for args in [
            (5,),
            (2, 5),
            (5, 2),
            (5, 2, -1),
            (0,),
            (2.5,),
            (0, 1, 0.25),
            (1, 2, 0.3),
            (np.int8(4),),
            (0, 10, 3),
        ]
    }
    calls |= {
        f"arange {dtype}": lambda m, dtype=dtype: m.arange(1, 4, dtype=dtype)
        for dtype in ("int8", "bfloat16", "complex64")
    }
    calls |= {
        f"{name}{options}": lambda m, name=name, options=options: getattr(m, name)(1, 8, **options)
        for name in ("linspace", "logspace", "geomspace")
        for options in (
            {},
            {"num": 5},
            {"num": 4, "endpoint": False},
            {"num": 1},
            {"num": 0},
            {"num": 3, "dtype": "int32"},
        )
    }
    calls |= {
        "retstep": lambda m: m.linspace(0, 1, 5, retstep=True),
        "no steps": lambda m: m.linspace(0, 1, 1, retstep=True),
        "negative": lambda m: m.linspace(0, 1, -1),
        "arrays": lambda m: m.linspace(m.array([0.0, 1.0]), m.array([[2.0], [3.0]]), 4, axis=1),
        "complex": lambda m: m.linspace(0, 1 + 1j, 3),
        "base": lambda m: m.logspace(0, 3, 4, base=2),
        "down": lambda m: m.geomspace(-8.0, -1.0, 4),
    }
    calls |= {
        f"{name} of two dtypes": lambda m, name=name: getattr(m, name)(m.bfloat16(0.427), 2.694, 4, dtype="float32")
        for name in ("linspace", "logspace", "geomspace")
    }
    compare(calls, rtol=2e-5)


@pytest.mark.usefixtures("narrow")
def test_whole_steps_of_linspace_from_zero_are_rounded_once() -> None:
    for stop, num in ((25, 6), (10, 11), (7, 8)):
        assert pnp.linspace(0, stop, num).tolist() == [stop / (num - 1) * i for i in range(num)]
    counts, edges = pnp.histogram(pnp.array([1, 2, 3, 10, 11, 15, 19, 25]), bins=5, range=(0, 25))
    assert edges.tolist() == [0, 5, 10, 15, 20, 25]
    assert counts.tolist() == [3, 0, 2, 2, 1]


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_ends_that_are_no_numbers_are_refused_with_the_function_that_was_called(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: stop must be an array or a number, got list"):
        getattr(pnp, name)(1, [2])


@pytest.mark.parametrize("x", [True, 5, 2.5, 1 + 2j])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64", int, float])
def test_python_scalars_are_cast(x: Any, dtype: Any) -> None:
    if not (isinstance(x, complex) and dtype in ("int8", "float32", int, float)):
        compare({"astype": lambda m: m.astype(x, dtype)})


@pytest.mark.usefixtures("narrow")
def test_ranges_are_the_same_eagerly_and_in_programs() -> None:
    for args in ((5,), (2, 9, 3), (0.0, 1.0, 0.1), (2.5,)):
        assert np.allclose(pnp.arange(*args), px.jit(lambda args=args: pnp.arange(*args))(), rtol=1e-6)
    assert np.array_equal(pnp.linspace(0, 3, 7), px.jit(lambda: pnp.linspace(0, 3, 7))())
    refuses(ValueError, "arange: step must not be 0", pnp.arange, 0, 3, 0)
    refuses(TypeError, "arange: stop must be a number, got i32[2]", pnp.arange, pnp.array([1, 2]))
    with pytest.raises(px.errors.ConcretizationTypeError):
        px.jit(lambda n: pnp.arange(n))(3)
    assert pnp.arange(pnp.asarray(3)).tolist() == [0, 1, 2]


def test_scalar_types_are_dtypes_and_make_arrays() -> None:
    for name in (
        "bool_",
        "int8",
        "int16",
        "int32",
        "uint8",
        "uint16",
        "uint32",
        "float16",
        "float32",
        "bfloat16",
        "complex64",
    ):
        kind = getattr(pnp, name)
        assert pnp.zeros(2, kind).dtype == np.dtype(kind) == kind
        made = kind(1)
        assert (made.dtype, made.shape, made.weak_type) == (kind.dtype, (), False)
        assert isinstance(kind.dtype.type(1), kind)
        assert hash(kind) == hash(kind.dtype.type)
    assert pnp.float32 == np.float32
    assert pnp.float32 != np.float64
    assert pnp.float32([1, 2]).tolist() == [1.0, 2.0]
    assert pnp.issubdtype(pnp.bfloat16, pnp.floating)
    assert pnp.finfo(pnp.bfloat16).bits == 16
    assert pnp.iinfo(pnp.int8).max == 127
    assert repr(pnp.int8) == "<scalar type int8>"


def test_scalar_types_are_classes() -> None:
    class Step(pnp.int8):  # type: ignore[misc]
        FIRST = pnp.int8(0)

    assert issubclass(Step, pnp.int8)
    assert Step(3).dtype == pnp.zeros(2, Step).dtype == Step.FIRST.dtype == np.int8
    assert isinstance(np.int8(3), pnp.int8)
    assert not isinstance(np.int16(3), pnp.int8)
    assert isinstance(None, pnp.float32 | None)
    assert pnp.result_type(pnp.int8, pnp.bfloat16) == pnp.bfloat16
    assert pickle.loads(pickle.dumps(pnp.bfloat16)) is copy.deepcopy(pnp.bfloat16) is pnp.bfloat16


def test_questions_about_dtypes_agree_with_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    kinds = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]
    for a in kinds:
        for b in kinds:
            assert pnp.promote_types(a, b) == jnp.promote_types(a, b)
            assert pnp.result_type(pnp.zeros(2, a), pnp.zeros(2, b)) == jnp.promote_types(a, b)
            if "bfloat16" not in (a, b):
                assert pnp.can_cast(a, b) == jnp.can_cast(a, b)
        for scalar in (1, 2.5, 1j):
            assert pnp.result_type(a, scalar) == jnp.result_type(a, scalar)
        for kind in (
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "complex floating",
            "numeric",
        ):
            assert pnp.isdtype(a, kind) == jnp.isdtype(np.dtype(pnp.zeros(0, a).dtype), kind)
    assert pnp.isdtype("int8", ("bool", np.dtype("int8")))
    refuses(ValueError, "isdtype: kind must be a dtype or one of", pnp.isdtype, "int8", "whole")
    assert pnp.iscomplexobj(1j)
    assert pnp.isrealobj(pnp.ones(2))
    assert pnp.iterable([1])
    assert not pnp.iterable(pnp.asarray(1))


def test_buffers_and_iterables_become_arrays() -> None:
    data = np.arange(4, dtype=np.int32)
    assert pnp.frombuffer(data.tobytes(), "int32", 2, 4).tolist() == [1, 2]
    assert pnp.frombuffer(pnp.arange(4, dtype="int32"), "int32", offset=8).tolist() == [2, 3]
    wide = pnp.frombuffer(np.arange(3.0).tobytes())
    assert (wide.dtype, wide.tolist()) == (pnp.zeros(0).dtype, [0, 1, 2])
    assert pnp.fromiter((i * i for i in range(3)), "float32").tolist() == [0.0, 1.0, 4.0]
    assert pnp.from_dlpack(data).tolist() == [0, 1, 2, 3]


def test_ndarray_is_the_class_of_arrays_and_tracers() -> None:
    assert isinstance(pnp.ones(2), pnp.ndarray)
    assert not isinstance(np.ones(2), pnp.ndarray)
    assert px.jit(lambda x: isinstance(x, pnp.ndarray) * x)(2.0) == 2.0
    refuses(TypeError, "arrays are made by functions", pnp.ndarray, (2,))


@pytest.mark.usefixtures("narrow")
def test_64_bit_dtypes_warn_unless_they_are_enabled() -> None:
    with pytest.warns(UserWarning, match="float64 is not available"):
        assert pnp.zeros(2, "float64").dtype == np.float32
    with px.enable_x64(True):
        assert pnp.zeros(2, "float64").dtype == np.float64
        assert pnp.arange(3).dtype == np.int64
        assert pnp.asarray([1.0]).dtype == np.float64
        assert (pnp.asarray(1.0) + 1).dtype == np.float64
        assert (pnp.float32(1) + 1.0).dtype == np.float32
        assert (pnp.int32(1) * 2.0).dtype == np.float64
        assert pnp.mean(pnp.arange(3)).dtype == np.float64


def test_missing_functions_say_whether_numpy_has_them() -> None:
    with pytest.raises(AttributeError, match=r"primax.numpy has no busday_count; numpy.busday_count takes"):
        pnp.busday_count  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        pnp.nonsense  # noqa: B018


@pytest.mark.parametrize("args, name", [((1j,), "stop"), ((0, 3 + 0j), "stop"), ((0, 3, np.complex64(1)), "step")])
def test_arange_refuses_complex_numbers_and_names_the_argument(args, name):
    with pytest.raises(ValueError, match=f"arange: {name} must be a real number"):
        pnp.arange(*args)
    assert pnp.arange(3, dtype="complex64").tolist() == [0, 1, 2]


@pytest.mark.parametrize("args", [(np.inf,), (np.nan,), (0, -np.inf), (0, 3, np.nan)])
def test_arange_refuses_what_gives_no_length(args):
    with pytest.raises(ValueError, match="arange: the numbers must be finitely many"):
        pnp.arange(*args)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
@pytest.mark.parametrize("value", [1e30, -1e30, float("nan"), float("inf"), -1.5, 300.7])
def test_floats_that_an_integer_dtype_cannot_hold_become_the_nearest_it_can(value: float, dtype: str) -> None:
    limits = np.iinfo(dtype)
    nearest = 0 if value != value else max(limits.min, min(limits.max, int(max(-1e20, min(1e20, value)))))
    for x in (value, np.float32(value), np.float32([value, 1])):
        assert pnp.astype(x, dtype).ravel()[0] == nearest
    for x in (value, np.float32(value)):
        assert (
            pnp.full((2,), x, dtype).tolist()
            == px.jit(lambda x=x: pnp.full((2,), x, dtype))().tolist()
            == [nearest] * 2
        )
    assert pnp.sum(np.float32(value), dtype=dtype) == nearest


class Foreign:
    """An object of another library, which NumPy reads by one of its protocols."""

    def __init__(self, protocol: str, values: Any) -> None:
        self.kept = np.asarray(values)
        setattr(self, protocol, getattr(self.kept, protocol))


def test_objects_that_numpy_reads_by_a_protocol_become_arrays() -> None:
    calls = {}
    for protocol in ("__array_interface__", "__array_struct__"):
        x = Foreign(protocol, [[1.0, 2.0]])
        calls[f"asarray {protocol}"] = lambda m, x=x: m.asarray(x)
        calls[f"array {protocol}"] = lambda m, x=x: m.array(x, "int32")
        calls[f"list {protocol}"] = lambda m, x=x: m.asarray([x, x])
    compare(calls)
    with pytest.raises(TypeError, match="add: argument 0 must be an array or a number, got Foreign"):
        pnp.add(Foreign("__array_struct__", 1.0), 1)


def test_arrays_of_float0_are_arrays_of_numpy() -> None:
    zeros = np.zeros(2, px.float0)
    made = [
        pnp.zeros(2, px.float0),
        pnp.zeros_like(zeros),
        pnp.full_like(zeros, 0),
        pnp.ones_like(zeros),
        pnp.empty_like(zeros),
        pnp.asarray(zeros),
        pnp.array(zeros),
    ]
    for x in made:
        assert type(x) is np.ndarray
        assert (x.shape, x.dtype) == ((2,), px.float0)
    assert px.jit(lambda: pnp.zeros(2, px.float0))().dtype == px.float0
    tangent = px.jvp(lambda x, i: x * i, (2.0, 3), (1.0, pnp.zeros((), px.float0)))[1]
    assert float(tangent) == 3.0


def test_arrays_that_were_pickled_with_64_bits_are_read_with_32() -> None:
    with px.enable_x64(True):
        pickled = pickle.dumps([pnp.asarray(4.0), pnp.arange(3)])
        assert [str(x.dtype) for x in pickle.loads(pickled)] == ["float64", "int64"]
    with px.enable_x64(False):
        assert [str(x.dtype) for x in pickle.loads(pickled)] == ["float32", "int32"]


@pytest.mark.parametrize("make", ["asarray", "array"])
def test_a_number_that_is_differentiated_becomes_an_array(make: str) -> None:
    for found in px.jvp(getattr(pnp, make), (1.0,), (2.0,)):
        assert isinstance(found, px.Array)
        assert found.weak_type
    assert [float(x) for x in px.jvp(getattr(pnp, make), (1.0,), (2.0,))] == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int4", "uint32", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("value", [0, 1, -0.0])
def test_large_arrays_of_one_value_have_memory_of_their_own(dtype: str, value: float) -> None:
    shape = (257, 513)
    expected = np.full(shape, np.asarray(value).astype(dtype))
    x = pnp.full(shape, value, dtype)
    assert np.asarray(x).tobytes() == expected.tobytes()
    assert np.asarray(pnp.full(shape, value, dtype, device=px.devices()[-1])).tobytes() == expected.tobytes()
    again = px.jit(lambda x: x, donate_argnums=0)(pnp.full(shape, value, dtype))
    assert np.asarray(again).tobytes() == expected.tobytes()
    assert np.asarray(px.jit(lambda x: ~x if dtype == "bool" else x + x, donate_argnums=0)(x)).shape == shape
    assert np.asarray(pnp.full(shape, value, dtype)).tobytes() == expected.tobytes()


class OnGpu:
    """An array of another library on a GPU, as far as its interface shows."""

    def __init__(self, interface: Any) -> None:
        self.__cuda_array_interface__ = interface


class Copied(OnGpu):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.float32([1, 2])


INTERFACE = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}
without_cuda = pytest.mark.skipif("cuda" in backends.known(), reason="there is a platform for GPUs")


@without_cuda
def test_an_array_on_a_gpu_is_copied_if_only_its_own_library_can_read_it() -> None:
    for make in (pnp.asarray, pnp.array, lambda x: pnp.asarray([x, x])[0]):
        np.testing.assert_array_equal(make(Copied(INTERFACE)), [1, 2])
    with pytest.raises(px.XlaError, match=r"there is no platform 'cuda'; .*pip install"):
        pnp.asarray(OnGpu(INTERFACE))


@pytest.mark.parametrize("interface", [3, {}, INTERFACE | {"shape": 2}, INTERFACE | {"typestr": "?!"}, {"data": 0}])
def test_a_wrong_interface_of_cuda_is_refused(interface: Any) -> None:
    with pytest.raises(
        TypeError, match=r"__cuda_array_interface__ must be a mapping with 'shape', 'typestr' and 'data'"
    ):
        pnp.asarray(OnGpu(interface))


def test_an_array_on_a_gpu_has_the_word_size_of_other_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    with px.enable_x64(True):
        wide = pnp.arange(3)
    monkeypatch.setattr(runtime, "from_cuda_array_interface", lambda x: wide)
    for x64, dtype in ((False, "int32"), (True, "int64")):
        with px.enable_x64(x64):
            found = pnp.asarray(OnGpu(INTERFACE))
            assert found.dtype == dtype
            assert found.tolist() == [0, 1, 2]


def test_more_equal_elements_than_the_host_can_hold_are_refused_before_one_is_written() -> None:
    for make in (pnp.zeros, pnp.ones):
        with pytest.raises(px.XlaError, match=r"RESOURCE_EXHAUSTED: an array of .* bytes does not fit into the memory"):
            make((2**14, 2**30))
