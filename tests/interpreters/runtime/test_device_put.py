"""Values move to devices, with or without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core.avals import get_aval
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.device_put import (
    ALIGNMENT,
    as_array,
    compile_options,
    copy_of,
    full_on_host,
    move,
    of_parts,
    parts_of,
    put_host,
    put_value,
    to_buffer,
)

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def sharding() -> Any:
    if len(px.devices()) < 2:
        pytest.skip("needs several devices")
    return px.NamedSharding(px.make_mesh((2,), ("i",), devices=px.devices()[:2]), px.P("i"))


def test_a_host_array_is_copied_unless_it_is_lent() -> None:
    memory = full_on_host((4,), np.float32(1), np.dtype(np.float32))
    assert memory.ctypes.data % ALIGNMENT == 0
    copied, lent = put_value(memory), put_value(memory, lent=True)
    memory[0] = 5
    assert copied.tolist() == [1, 1, 1, 1]
    assert np.shares_memory(np.asarray(lent), memory)


def test_values_get_the_dtype_of_their_type() -> None:
    assert put_value(2.0, True).weak_type
    b = put_host(np.asarray([1.5, 2.5]), get_aval(np.zeros(2, np.int8)))
    assert np.asarray(memoryview(b)).tolist() == [1, 2]
    zeros = put_host(np.zeros(3, px.dtypes.float0), get_aval(np.zeros(3, px.dtypes.float0)))
    assert zeros.aval.dtype == np.bool_


def test_an_array_that_is_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_put, "_SIZE_TO_CHECK", 16)
    monkeypatch.setattr(device_put, "_memory_of_host", lambda: 20)
    with pytest.raises(px.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED: an array of 32 bytes .* has 20 bytes"):
        put_value(X)
    with pytest.raises(px.errors.JaxRuntimeError, match="the memory of the host"):
        full_on_host((8,), np.float32(0), np.dtype(np.float32))


def test_a_buffer_in_its_place_is_not_moved() -> None:
    x = pnp.asarray(X)
    assert to_buffer(x, x.sharding) is x._b
    committed = move(x._b, x.sharding, True)
    assert committed._committed
    assert committed.unsafe_buffer_pointer() == x._b.unsafe_buffer_pointer()
    copy = copy_of(x)
    assert copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert copy.tolist() == x.tolist()
    x.delete()
    for call in (lambda: to_buffer(x, copy.sharding), lambda: move(x._b, copy.sharding, True), lambda: parts_of(x._b)):
        with pytest.raises(px.errors.DeletedArrayError):
            call()


def test_an_array_is_divided_and_put_together(sharding: Any) -> None:
    whole = put_value(X, device=sharding)
    parts = list(map(as_array, parts_of(whole._b)))
    assert [part.tolist() for part in parts] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    again = of_parts(whole.aval, sharding, parts)
    assert again.tolist() == X.tolist()
    assert again.sharding is sharding


def test_an_array_moves_between_one_device_and_several(sharding: Any) -> None:
    x = pnp.asarray(X)
    divided = as_array(move(x._b, sharding, True))
    assert divided.sharding is sharding
    replicated = px.NamedSharding(sharding.mesh, px.P())
    for target in (replicated, px.sharding.SingleDeviceSharding(px.devices()[-1]), sharding):
        moved = as_array(move(divided._b, target, True))
        assert moved.sharding is target
        assert moved.tolist() == X.tolist()


def test_elements_that_repeat_are_divided_too(sharding: Any) -> None:
    assert put_value(np.broadcast_to(np.float32(3), (4,)), device=sharding).tolist() == [3, 3, 3, 3]


def test_elements_of_less_than_a_byte_become_readable() -> None:
    x = pnp.asarray([1, -2, 3], dtype="int4")
    assert np.asarray(x).tolist() == [1, -2, 3]


def test_options_of_the_compiler_are_read_by_name() -> None:
    options = compile_options(px.devices()[:1], (("optimization_level", "O1"), ("xla_cpu_enable_fast_min_max", True)))
    assert options.num_partitions == 1
    assert options.executable_build_options.optimization_level == 19
    assert dict(options.env_option_overrides) == {"xla_cpu_enable_fast_min_max": True}
    with pytest.raises(ValueError, match="compiler_options: optimization_level must be one of"):
        compile_options(px.devices()[:1], (("optimization_level", "O9"),))


def test_a_type_without_a_value_is_refused() -> None:
    with pytest.raises(TypeError, match="is a type without a value"):
        to_buffer(px.ShapeDtypeStruct((2,), np.float32), pnp.ones(2).sharding)
