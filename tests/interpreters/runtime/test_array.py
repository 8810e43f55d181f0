"""Arrays read like NumPy's, cannot be written to, and say what became of them."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primax as px
from primax.core.avals import ShapedArray
from primax.errors import DeletedArrayError
from primax.extend.provisional.from_dlpack import from_dlpack
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.dlpack import capsule_view
from primax.plugins.arithmetic import add, mul
from primax.sharding import SingleDeviceSharding

WIDE = ("float64", "complex128", "int64", "uint64")
NUMPY = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SMALL = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]
PACKED = ["int2", "int4", "uint2", "uint4", "float4_e2m1fn"]
SHAPES = ((), (5,), (2, 3), (2, 0, 3), (0,))


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def host(name: str, shape: tuple[int, ...] = (2, 3)) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    return (np.arange(count) % 2).reshape(shape).astype(dtype_of(name))


def put(value: Any) -> Any:
    with px.enable_x64(True):
        return px.device_put(value)


def bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("name", [*NUMPY, *SMALL, *PACKED])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_dtype_and_shape_reads_back(name: str, shape: tuple[int, ...]) -> None:
    value = host(name, shape)
    x = put(value)
    read = np.asarray(x)
    assert (x.shape, x.dtype, x.ndim, x.size) == (shape, value.dtype, len(shape), value.size)
    assert (read.shape, read.dtype, bits(read)) == (shape, value.dtype, bits(value))
    assert not read.flags.writeable
    assert str(x.tolist()) == str(value.tolist())


@pytest.mark.parametrize("name", [*NUMPY, *SMALL])
def test_reading_shares_memory(name: str) -> None:
    x = put(host(name))
    first, second = np.asarray(x), np.asarray(x)
    assert first.ctypes.data == second.ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    assert np.array(x).flags.writeable


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2"])
def test_a_view_outlives_the_array(name: str) -> None:
    value = (np.arange(1 << 16) % 2).astype(dtype_of(name))
    x = put(value)
    view = np.asarray(x)
    x.delete()
    del x
    gc.collect()
    more = [put(np.zeros_like(value)) for _ in range(4)]
    assert bits(view) == bits(value)
    del more


def test_only_methods_are_called_for_what_is_no_array() -> None:
    class Other:
        copy_to_host_async = block_until_ready = 3

    other = Other()
    assert px.copy_to_host_async(other) is px.block_until_ready(other) is other


def test_a_view_keeps_a_buffer_from_being_donated() -> None:
    for name in ("float32", "bfloat16"):
        x = px.device_put(host(name))
        view = np.asarray(x)
        px.jit(lambda x: add(x, x), donate_argnums=0)(x)
        assert bits(view) == bits(host(name))


def test_numpy_decides_about_copies_and_dtypes() -> None:
    x = put(host("float32"))
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.array(x, copy=False).ctypes.data == np.asarray(x).ctypes.data
    with pytest.raises(ValueError, match="float32 must be copied to become int32"):
        x.__array__(np.int32, copy=False)
    with pytest.raises(ValueError, match="cop"):  # from Python 3.12 on NumPy reads the buffer and says so itself
        np.array(x, np.int32, copy=False)
    assert np.add(x, np.float32(1)).tolist() == (host("float32") + 1).tolist()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes written in Python lend buffers since 3.12")
def test_memoryview_of_an_array() -> None:
    x = put(host("float32"))
    assert memoryview(x).readonly
    assert memoryview(x).tolist() == host("float32").tolist()


def test_memoryview_of_the_numpy_view() -> None:
    view = memoryview(np.asarray(put(host("float32"))))
    assert view.readonly
    assert view.tolist() == host("float32").tolist()


def test_python_scalars() -> None:
    x = put(np.float32(2.5))
    assert (float(x), int(x), complex(x), bool(x), x.item()) == (2.5, 2, 2.5 + 0j, True, 2.5)
    assert float(put(np.asarray(1.5, ml_dtypes.bfloat16))) == 1.5
    assert [10, 20, 30][put(np.int32(1))] == 20
    assert put(host("int32")).item(1, 2) == 1
    assert bool(put(np.ones((1, 1)))) is True
    assert f"{x:.3f}" == "2.500"


@pytest.mark.parametrize("kind", [int, float, complex])
def test_only_rank_0_becomes_a_python_number(kind: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=rf"rank 0 can become a Python {kind.__name__}, got f32\[1\]; use .item"):
        kind(put(np.ones(1, np.float32)))


def test_conversions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one element is true or false, got f32\[2,3\]; use .any\(\)"):
        bool(put(host("float32")))
    with pytest.raises(ValueError, match=r"got f32\[0\]"):
        bool(put(host("float32", (0,))))
    with pytest.raises(TypeError, match=r"can be an index, got f32\[\]"):
        [1][put(np.float32(0))]
    with pytest.raises(TypeError, match="complex"):
        float(put(np.complex64(1j)))
    with pytest.raises(TypeError, match=r"0-d|rank 0|axis"):
        iter(put(np.float32(0)))
    with pytest.raises(TypeError, match=r"unsized|0-d|rank 0|axis"):
        len(put(np.float32(0)))
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(put(np.float32(0)))


def test_writing_is_refused_with_the_alternative() -> None:
    x = put(host("float32"))
    with pytest.raises(TypeError, match=r"immutable.*x = x\.at\[index\]\.set\(y\)"):
        x[0] = 1.0
    for name in ("shape", "dtype", "anything"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1)


def test_isinstance_holds_for_arrays_and_tracers_of_arrays() -> None:
    seen: list[bool] = []

    def f(x: Any) -> Any:
        seen.append(isinstance(x, px.Array))
        return x

    for transformed in (px.jit(f), px.vmap(f), px.make_jaxpr(f), lambda x: px.jvp(f, (x,), (x,))):
        transformed(px.device_put(np.ones(3, np.float32)))
    assert seen == [True] * 4
    assert isinstance(px.device_put(1.0), px.Array)
    assert not isinstance(np.ones(3), px.Array)
    assert not isinstance(1.0, px.Array)


def test_where_an_array_is() -> None:
    x = px.device_put(host("float32"))
    cpu = px.devices()[0]
    assert (x.device, x.devices(), x.committed, x.platform()) == (cpu, {cpu}, False, "cpu")
    assert x.sharding.device_set == {cpu}
    assert x.sharding.is_fully_replicated
    assert x.sharding is pickle.loads(pickle.dumps(x.sharding))
    assert "SingleDeviceSharding" in repr(x.sharding)
    assert x.is_fully_addressable
    assert x.is_fully_replicated
    assert x.addressable_data(0) is x
    with pytest.raises(IndexError, match="below 1, the number of parts, got 1"):
        x.addressable_data(1)
    with pytest.raises(TypeError, match="addressable_data: index must be an integer"):
        x.addressable_data(host("float32"))
    assert x.on_device_size_in_bytes() == 24
    assert x.block_until_ready() is x
    assert x.is_ready()
    x.copy_to_host_async()
    assert not hasattr(x, "__cuda_array_interface__")


@pytest.mark.parametrize("name", ["float32", "float64", "bool", "complex64", "bfloat16", "float8_e4m3fn", "int4"])
@pytest.mark.parametrize("weak", [False, True])
def test_copies_and_pickles_keep_value_dtype_and_weakness(name: str, weak: bool) -> None:
    value = host(name)
    with px.enable_x64(True):  # without 64-bit types, pickles give those of 32 bits
        x = pickle_source(value, weak)
        read = [pickle.loads(pickle.dumps(x, p)) for p in (2, 4, 5)]
    for made in (copy.copy(x), copy.deepcopy(x), *read):
        assert type(made) is px.Array
        assert made.aval == ShapedArray(value.shape, value.dtype, weak)
        assert bits(made) == bits(value)
    assert copy.deepcopy([x, x])[0]._b is not x._b


def test_a_copy_stays_when_the_original_is_donated() -> None:
    for copied in (copy.copy, copy.deepcopy):
        x = px.numpy.ones(3)
        twin = copied(x)
        px.jit(lambda x: x + 1, donate_argnums=0)(x)
        assert x.is_deleted()
        assert twin.tolist() == [1, 1, 1]
        keys = px.random.split(px.random.key(0), 2)
        assert copied(keys).base._b is not keys.base._b


def test_a_process_that_has_used_nothing_yet_reads_pickles() -> None:
    x = px.numpy.ones(3)
    pickled = pickle.dumps([x, x.aval, x.sharding])
    program = (
        f"import pickle; x, aval, sharding = pickle.loads({pickled!r}); print(x + 1, x.aval is aval, aval.sharding)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == f"[2. 2. 2.] True {x.aval.sharding}\n", done.stderr


def pickle_source(value: np.ndarray[Any, Any], weak: bool) -> Any:
    restore, (version, name, _, _) = put(value).__reduce__()
    return restore(version, name, value, weak)


REPR = {
    "scalar": np.float32(1.5),
    "ints": np.arange(3),
    "empty": np.zeros(0),
    "zero-size axis": np.zeros((2, 0, 3), np.int8),
    "bool": np.array(True),
    "bools": np.array([True, False] * 30),
    "matrix": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4) ** 3,
    "lines": np.linspace(-1, 1, 20) ** 3,
    "summarized": np.linspace(-1, 1, 2000) ** 3,
    "rank 3": np.linspace(-1, 1, 24).reshape(2, 3, 4) ** 3,
    "complex": np.arange(3) * (1 + 0.5j),
    "bfloat16": np.arange(40).astype(ml_dtypes.bfloat16).reshape(4, 10),
    "float16": np.float16(2),
    "not finite": np.array([np.nan, np.inf, -np.inf]),
    "weak float": 3.0,
    "weak int": 2,
    "python bool": True,
    "weak complex": 1j,
    "int4": np.arange(4).astype(ml_dtypes.int4),
    "almost a line": np.arange(18, dtype=np.float32),
    "a line": np.arange(19, dtype=np.float32),
    "more than a line": np.arange(20, dtype=np.float32),
}


@pytest.mark.parametrize("case", REPR)
def test_text_is_that_of_jax(case: str) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        theirs = jax.numpy.asarray(REPR[case])
        expected = repr(theirs), str(theirs), format(theirs)
    ours = put(REPR[case])
    assert (repr(ours), str(ours), format(ours)) == expected


def test_the_type_is_far_from_a_value_that_fills_the_line(jax: Any) -> None:
    for value in (np.arange(20), np.arange(14.0).reshape(2, 7), 2.5):
        for width in range(30, 100):
            with np.printoptions(linewidth=width):
                assert repr(px.numpy.asarray(value)) == repr(jax.numpy.asarray(value))


def test_text_follows_numpys_print_options() -> None:
    with np.printoptions(precision=2):
        assert repr(put(np.float32(1) / 3)) == "Array(0.33, dtype=float32)"


READERS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "array": np.array,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x: x.tobytes(),
    "str": str,
    "format": format,
    "block_until_ready": lambda x: x.block_until_ready(),
    "is_ready": lambda x: x.is_ready(),
    "copy_to_host_async": lambda x: x.copy_to_host_async(),
    "unsafe_buffer_pointer": lambda x: x.unsafe_buffer_pointer(),
    "on_device_size_in_bytes": lambda x: x.on_device_size_in_bytes(),
    "dlpack": lambda x: x.__dlpack__(),
    "from_dlpack": np.from_dlpack,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "float": lambda x: float(x),
    "bool": bool,
    "device_put": lambda x: px.device_put(x, px.devices()[0]),
    "device_get": px.device_get,
    "primitive": lambda x: add(x, x),
    "jit": lambda x: twice(x),
    "jit donating": lambda x: twice_in_place(x),
    "grad": lambda x: px.grad(lambda y: mul(y, y))(x),
    "compiled": lambda x: twice.lower(x).compile()(x),
}
twice = px.jit(lambda x: add(x, x))
twice_in_place = px.jit(lambda x: add(x, x), donate_argnums=0)


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_what_was_deleted_or_donated_cannot_be_used(how: str, name: str) -> None:
    one = np.ones((), dtype_of(name))
    for _ in range(2):  # the second time by jaxlib's fast path
        twice(px.device_put(one))
        twice_in_place(px.device_put(one))
    gone, given = px.device_put(one), px.device_put(one)
    gone.delete()
    twice_in_place(given)
    assert gone.is_deleted()
    assert given.is_deleted()
    for x, fate in (
        (gone, r"was deleted \(delete\(\)\)"),
        (given, r"was donated to <lambda> \(donate_argnums\)"),
    ):
        with pytest.raises(DeletedArrayError, match=fate):
            READERS[how](x)
    assert (gone.shape, gone.dtype) == ((), one.dtype)
    assert "deleted" in repr(gone)


@pytest.mark.parametrize("name", [*NUMPY, *SMALL])
def test_dlpack_carries_every_dtype_it_knows(name: str) -> None:
    value = host(name)
    x = put(value)
    read = capsule_view(x.__dlpack__())
    assert (read.dtype, bits(read)) == (value.dtype, bits(value))
    assert x.__dlpack_device__() == (1, 0)
    if name in NUMPY:
        assert bits(np.from_dlpack(x)) == bits(value)
        with px.enable_x64(True):
            back = from_dlpack(value)
        assert (back.dtype, bits(back)) == (value.dtype, bits(value))


def aligned(count: int, offset: int = 0) -> np.ndarray[Any, Any]:
    room = np.empty(count + 32, np.float32)
    start = (-room.ctypes.data % 64) // 4 + offset
    return room[start : start + count]


def test_dlpack_refuses_versions_that_are_not_pairs() -> None:
    with pytest.raises(TypeError, match="__dlpack__: max_version must be None or a pair"):
        px.device_put(host("float32")).__dlpack__(max_version=1)


def test_from_dlpack_shares_aligned_memory_unless_asked_for_a_copy() -> None:
    value = aligned(64)
    value[:] = 1
    shared, copied = from_dlpack(value), from_dlpack(value, copy=True)
    value[0] = 5
    assert np.asarray(shared)[0] == 5
    assert np.asarray(copied)[0] == 1
    kept = np.asarray(shared)
    del shared, value
    gc.collect()
    assert kept[0] == 5


def test_from_dlpack_copies_what_it_cannot_share() -> None:
    odd = aligned(64, offset=1)
    odd[:] = 3
    for value in (odd, aligned(64)[::2], np.broadcast_to(np.float32(2), (3,)), np.zeros((3, 0), np.float32)):
        assert bits(from_dlpack(value)) == bits(value)
        with pytest.raises(ValueError, match="memory can be shared only if it is contiguous"):
            from_dlpack(value, copy=False)
    x = px.device_put(np.ones(3, np.float32))
    assert from_dlpack(x) is x
    assert from_dlpack(x, copy=True)._b is not x._b
    assert from_dlpack(np.arange(3.0)).dtype == px.device_put(np.arange(3.0)).dtype


def test_from_dlpack_says_what_it_cannot_take() -> None:
    for wrong in (1, "yes", np.zeros(3)):
        with pytest.raises(TypeError, match=r"from_dlpack: copy must be a bool or None, got "):
            from_dlpack(np.ones(3), None, wrong)
    with pytest.raises(TypeError, match="x must have __dlpack__ and __dlpack_device__, got list"):
        from_dlpack([1.0])

    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError

        def __dlpack_device__(self) -> tuple[int, int]:
            return 4, 0

    with pytest.raises(BufferError, match="device of DLPack's type 4"):
        from_dlpack(Elsewhere())


def test_dlpack_refuses_other_devices() -> None:
    x = px.device_put(np.ones(3, np.float32))
    with pytest.raises(BufferError, match=r"must be \(1, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    assert capsule_view(x.__dlpack__(copy=True)).ctypes.data != np.asarray(x).ctypes.data


def run(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PRIMAX_ENABLE_X64": "0", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TWO_DEVICES = """
import copy, pickle
import numpy as np, primax as px
from primax.plugins.arithmetic import add
a, b = px.devices()
f = px.jit(lambda x, y: add(x, y))
loose = px.device_put(np.ones(3, np.float32))
on_a, on_b = px.device_put(loose, a), px.device_put(loose, b)
assert (loose.committed, on_a.committed, on_b.committed) == (False, True, True)
assert (loose.device, on_a.device, on_b.device) == (a, a, b)
assert px.device_put(on_b) is on_b
assert px.device_put(on_a, on_b.sharding).device == b
for _ in range(3):
    for g in (f, add):
        for x, y, device, committed in (
            (loose, loose, a, False), (on_a, loose, a, True), (loose, on_b, b, True), (on_b, on_b, b, True),
            (on_b, np.float32(1), b, True), (np.float32(1), loose, a, False),
        ):
            out = g(x, y)
            assert (out.device, out.committed) == (device, committed), (g, device)
            assert np.asarray(out).tolist() == [2.0] * 3
        try:
            g(on_a, on_b)
        except ValueError as error:
            assert "committed to the same devices" in str(error) and "device_put" in str(error), error
            assert "cpu:0" in str(error) and "cpu:1" in str(error), error
        else:
            raise AssertionError
placed = px.jit(lambda x: add(x, x), device=b)
assert placed(loose).device == b and placed(loose).device == b
assert px.jit(lambda x: x)(on_b).device == b
deep = copy.deepcopy(on_b)
assert deep.device == b and deep.committed
assert not pickle.loads(pickle.dumps(on_b)).committed
assert np.asarray(px.device_put(np.zeros(2).astype("bool"), b)).tolist() == [False, False]
from primax.extend.provisional.from_dlpack import from_dlpack
assert from_dlpack(np.ones(2), b).device == b
print("done")
"""


def test_results_follow_committed_arguments_between_two_devices() -> None:
    assert run(TWO_DEVICES, PRIMAX_NUM_CPU_DEVICES="2") == "done\n"


TOGETHER = """
import sys
first, ours, theirs = sys.argv[1:]
if first == "jax":
    import jax
import primax as px
from primax.plugins.arithmetic import add, mul
import numpy as np
calls = 0
@px.jit
def f(x, y):
    return x * 3 + y
def g(x, y):
    return px.numpy.asarray(x) * 3 + y
def check(word):
    with px.enable_x64(word):
        wide = np.float64 if word else np.float32
        third = np.full(3, 1 / 3)
        for _ in range(3):
            for h in (f, g):
                for x, y in ((third, third), (px.device_put(third), third), (third[0], 1 / 3), (1 / 3, 1 / 3)):
                    out = h(x, y)
                    assert out.dtype == wide, (out.dtype, wide, type(x))
                    assert np.allclose(out, 4 / 3, rtol=1e-15 if word else 1e-6, atol=0), out
            out = f(2**40, 1) if word else f(2**20, 1)
            assert out.dtype == (np.int64 if word else np.int32)
            assert int(out) == (3 * 2**40 + 1 if word else 3 * 2**20 + 1)
px.config.update("enable_x64", ours == "1")
check(ours == "1")
import jax
jax.config.update("jax_enable_x64", theirs == "1")
def theirs_work(word):
    out = jax.jit(lambda x: x * 3)(np.full(3, 1 / 3))
    assert out.dtype == (np.float64 if word else np.float32), out.dtype
    assert type(out) is not px.Array and isinstance(out, jax.Array)
theirs_work(theirs == "1")
check(ours == "1")
for flip in (True, False):
    jax.config.update("jax_enable_x64", flip)
    check(True); check(False)
    theirs_work(flip)
    assert float(f(jax.numpy.float32(2), px.device_put(np.float32(1)))) == 7.0
    assert np.asarray(jax.numpy.asarray(px.device_put(np.ones(2, np.float32)))).tolist() == [1, 1]
with jax.disable_jit():
    assert float(f(1.0, 1.0)) == 4.0 and float(g(np.float32(1), 1.0)) == 4.0
with px.disable_jit():
    assert float(f(1.0, 1.0)) == 4.0 and float(jax.jit(lambda x: x + 1)(1.0)) == 2.0
x = px.device_put(np.ones(4, np.float32))
assert px.grad(lambda x: f(x, 1.0))(2.0) == 3.0
x.delete()
try:
    f(x, 1.0)
except px.errors.DeletedArrayError:
    print("done")
"""


@pytest.mark.any_word_size
@pytest.mark.parametrize(
    ("first", "ours", "theirs"),  # each value of each with each value of each other
    [("jax", "0", "1"), ("jax", "1", "0"), ("primax", "0", "0"), ("primax", "1", "1")],
)
def test_primax_and_jax_work_in_one_process(first: str, ours: str, theirs: str, tmp_path: Any) -> None:
    pytest.importorskip("jax")
    program = f"import sys; sys.argv[1:] = {[first, ours, theirs]!r}\n{TOGETHER}"
    assert run(program, PRIMAX_ENABLE_X64=ours, JAX_ENABLE_X64=theirs) == "done\n"


BROAD = """
import copy, pickle, sys
import ml_dtypes, numpy as np, primax as px
from primax.extend.provisional.from_dlpack import from_dlpack
from primax.plugins.arithmetic import add, mul
for dtype in (np.float32, np.bool_, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4):
    x = px.device_put(np.ones((2, 2)).astype(dtype))
    repr(x), x.tolist(), np.asarray(x), x.tobytes(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    px.block_until_ready(px.device_put(x, px.devices()[0])), x.is_ready(), x.on_device_size_in_bytes()
    if dtype not in (ml_dtypes.int4,):
        x.__dlpack__(), from_dlpack(x), x.unsafe_buffer_pointer()
x = from_dlpack(np.ones(100, np.float32))
f = px.jit(lambda x: mul(x, x), donate_argnums=0)
f(f(f(x)))
px.grad(lambda x: mul(x, x))(2.0), px.vmap(lambda x: add(x, x))(x := px.device_put(np.ones(3)))
px.jit(lambda x: x).lower(x).compile().cost_analysis()
px.clear_caches()
print([name for name in sys.modules if name == "jax" or name.startswith("jax.")])
"""


def test_primax_never_imports_jax_behind_ones_back() -> None:
    assert run(BROAD) == "[]\n"


def test_a_tree_is_waited_for_at_once_and_names_the_array_that_is_gone() -> None:
    x, y, key = px.numpy.arange(3.0), px.numpy.ones(2, "int32"), px.random.key(0)
    tree = {"a": [x, 1, None], "b": (y, key)}
    assert px.block_until_ready(tree) is tree
    y.delete()
    with pytest.raises(DeletedArrayError, match=r"the array of type i32\[2\] was deleted"):
        px.block_until_ready(tree)


def test_the_flags_of_a_buffer_are_an_integer() -> None:
    x = px.numpy.arange(3.0)
    assert memoryview(x.__buffer__(0)).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match=r"__buffer__: flags must be an integer, got 0\.5"):
        x.__buffer__(0.5)  # type: ignore[arg-type]


def test_a_large_array_goes_to_an_accelerator_before_the_call_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    device = px.devices()[-1]
    sharding = SingleDeviceSharding(device)
    monkeypatch.setitem(sharding.__dict__, "platform", "gpu")
    for value in (np.arange(2.0**19, dtype=np.float32), np.broadcast_to(np.float32(3), (2**10, 2**9))):
        expected = value.copy()
        x = px.device_put(value, sharding)
        if value.flags.writeable:
            value[:] = 0
        assert x.devices() == {device}
        np.testing.assert_array_equal(x, expected)


def test_an_array_larger_than_the_memory_of_a_device_is_refused() -> None:
    class Small:
        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 1000}

        def __str__(self) -> str:
            return "cuda:0"

    device_put._require_room([np.zeros(250, np.float32)], [Small()])
    with pytest.raises(px.XlaError, match=r"an array of 1,004 bytes does not fit into the memory of cuda:0, .* 1,000"):
        device_put._require_room([np.zeros(251, np.float32)], [Small()])


def test_an_array_larger_than_the_memory_of_the_host_is_refused() -> None:
    terabytes = np.broadcast_to(np.float32(1), (2**14, 2**30))
    for put in (px.numpy.asarray, px.device_put, px.jit(lambda x: x)):
        with pytest.raises(
            px.XlaError, match=r"RESOURCE_EXHAUSTED: an array of .* does not fit into the memory of cpu:0"
        ):
            put(terabytes)
