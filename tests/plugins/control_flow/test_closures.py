"""A NumPy array that a body closes over is read anew at each call, as in jax, whatever programs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px

ONE = np.float32(1)
XS = np.float32([1, 2, 3])


def calls(lib: Any, array: Any) -> dict[str, Any]:
    """Calls of bodies, each the same object at every call, that close over an array."""

    def times(x: Any) -> Any:
        return lib.numpy.asarray(array)[0] * x

    def step(carry: Any, x: Any) -> Any:
        return carry + times(x), None

    def grow(x: Any) -> Any:
        return x + times(ONE)

    def count(i: Any, x: Any) -> Any:
        return x + times(ONE)

    def small(x: Any) -> Any:
        return x < lib.numpy.asarray(array)[0] * 4

    bodies = [times, grow]
    kept = lib.checkpoint(times)
    return {
        "scan": lambda: lib.lax.scan(step, np.float32(0), XS)[0],
        "derivative of scan": lambda: lib.grad(lambda x: lib.lax.scan(step, x[0], x)[0])(XS),
        "fori_loop": lambda: lib.lax.fori_loop(0, 3, count, np.float32(0)),
        "while_loop": lambda: lib.lax.while_loop(small, grow, ONE),
        "cond": lambda: lib.lax.cond(True, times, grow, XS),
        "switch": lambda: lib.lax.switch(1, bodies, XS),
        "map": lambda: lib.lax.map(times, XS),
        "checkpoint": lambda: kept(XS),
        "vmap": lambda: lib.vmap(times)(XS),
    }


def before_and_after(lib: Any) -> dict[str, Any]:
    array = np.ones(1, np.float32)
    found = {}
    for name, call in calls(lib, array).items():
        array[0] = 1
        first = np.asarray(call())
        array[0] = 5
        found[name] = first.tolist(), np.asarray(call()).tolist()
    return found


@pytest.mark.usefixtures("in_32_bits")
def test_an_array_that_changes_between_calls_changes_what_bodies_compute() -> None:
    found = before_and_after(px)
    assert found["scan"] == (6.0, 30.0)
    assert found["derivative of scan"] == ([2, 1, 1], [6, 5, 5])
    assert found["while_loop"] == (4.0, 21.0)
    for name in ("cond", "map", "checkpoint", "vmap"):
        assert found[name] == ([1, 2, 3], [5, 10, 15]), name
    assert found["switch"] == ([2, 3, 4], [6, 7, 8])
    assert found["fori_loop"] == (3.0, 15.0)


@pytest.mark.usefixtures("in_32_bits")
def test_an_array_that_changes_between_calls_does_so_in_jax(jax: Any) -> None:
    assert before_and_after(px) == before_and_after(jax)
