"""Functions that enter Python for new signatures only, and what they do with errors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.interpreters.runtime.dispatch import fast_front, fast_function

X = np.arange(3, dtype=np.float32)


class Counted:
    """A function whose misses are counted, with the fast paths of `jit`."""

    def __init__(self, **options: Any) -> None:
        self.misses = 0
        self.errors: list[Exception] = []
        self.function = fast_function("f", None, self.miss, key=("counted", id(self)), **options)

    def miss(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        self.misses += 1
        if self.errors:
            raise self.errors.pop()
        return x, None, False


def test_a_call_without_a_fast_path_enters_python_each_time() -> None:
    counted = Counted()
    assert [counted.function(i) for i in range(3)] == [0, 1, 2]
    assert counted.misses == 3


def test_a_signature_that_failed_may_succeed_later() -> None:
    f = px.jit(lambda x: x / x)
    with px.debug_nans(True), pytest.raises(FloatingPointError):
        f(np.zeros(2, np.float32))
    assert [f(np.ones(2, np.float32)).tolist() for _ in range(3)] == [[1, 1]] * 3
    assert f._cache_size() == 1


def test_errors_of_a_miss_are_raised_as_they_are() -> None:
    counted = Counted()
    for error in (KeyError("a"), ValueError("INTERNAL: from Python"), RecursionError("deep")):
        counted.errors.append(error)
        with pytest.raises(type(error)) as raised:
            counted.function(X)
        assert raised.value is error


def test_static_arguments_are_told_apart_though_they_are_equal() -> None:
    seen: list[Any] = []
    f = px.jit(lambda x, n: seen.append(n) or x, static_argnums=1)
    for n in (1, True, 1.0, 0.0, -0.0, 1):
        f(X, n)
    assert list(map(repr, seen)) == ["1", "True", "1.0", "0.0", "-0.0"]
    with pytest.raises(ValueError, match="not supported, got \\[\\] of type list as argument 1"):
        f(X, [])


def test_an_error_of_a_callback_is_an_error_of_xla() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("missing")

    f = px.jit(lambda x: px.pure_callback(fail, px.ShapeDtypeStruct((), np.float32), x))
    for _ in range(3):
        with pytest.raises(px.errors.JaxRuntimeError, match="missing"):
            f(np.float32(1)).block_until_ready()


def test_hosts_arrays_in_other_byte_orders_are_read_as_numbers() -> None:
    f = px.jit(lambda x: x + 1)
    for dtype in (">f4", "<f4", ">f4"):
        assert f(np.array([1, 2], dtype)).tolist() == [2, 3]


def test_a_front_leaves_calls_to_its_function_until_it_shares_programs() -> None:
    calls = []

    def slow(x: Any) -> Any:
        calls.append(x)
        return program(x)

    program = px.jit(lambda x: x + 1)
    front, share = fast_front(slow)
    x = pnp.asarray(X)
    for _ in range(2):
        assert front(x).tolist() == [1, 2, 3]
    assert len(calls) == 2
    share(program)
    for _ in range(2):
        assert front(x).tolist() == [1, 2, 3]
    assert len(calls) == 2
    front(1.5)
    assert len(calls) == 3


def test_a_dispatched_function_is_freed_when_it_is_dropped() -> None:
    def fun(x: Any) -> Any:
        return x + 1

    px.jit(fun)(X)
    reference = weakref.ref(fun)
    del fun
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("name, rule", [(3, "name must be a str"), ("f", "fun must be callable")])
def test_a_name_and_a_function_are_checked(name: Any, rule: str) -> None:
    with pytest.raises(TypeError, match=f"fast_function: {rule}"):
        fast_function(name, None if name == 3 else type("A", (), {"x": 1})(), lambda x: x)
