"""Counts of programs that a process traces, lowers and compiles, and checks of their equations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import primax
from primax import lax, monitoring
from primax.extend import core
from primax.interpreters.events import COMPILE, LOWER, TRACE

__all__ = [
    "assert_dot_precision",
    "assert_dot_preferred_element_type",
    "assert_num_jit_and_pmap_compilations",
    "count_events",
    "count_jit_and_pmap_lowerings",
    "count_jit_compilation_cache_miss",
    "count_jit_tracing_cache_miss",
    "count_pjit_cpp_cache_miss",
    "count_primitive_compiles",
    "fwd_bwd_jaxprs",
    "iter_eqns",
    "register_event_duration_listener",
]

Test = Callable[..., Any]


class _Counter:
    """Counts events whose durations the process records."""

    def __init__(self, *names: str) -> None:
        self.names = names

    @contextmanager
    def __call__(self) -> Iterator[Callable[[], int]]:
        """A `with` block that gives a function, which returns the number of events since the block began."""
        count = 0

        def listen(event: str, duration: float, **_: Any) -> None:
            nonlocal count
            count += event in self.names

        monitoring.register_event_duration_secs_listener(listen)
        try:
            yield lambda: count
        finally:
            monitoring.unregister_event_duration_listener(listen)


count_events = _Counter
count_jit_tracing_cache_miss = _Counter(TRACE)
count_jit_and_pmap_lowerings = _Counter(LOWER)
count_jit_compilation_cache_miss = _Counter(COMPILE)
count_primitive_compiles = _Counter(COMPILE)
count_pjit_cpp_cache_miss = _Counter(TRACE)


@contextmanager
def assert_num_jit_and_pmap_compilations(times: int) -> Iterator[None]:
    """A `with` block that must lower a number of programs.

    Raises:
      AssertionError: it lowers more or fewer.
    """
    with count_jit_and_pmap_lowerings() as count:
        yield
    assert count() == times, f"{times} programs should be lowered, {count()} were"


@contextmanager
def register_event_duration_listener(callback: Test) -> Iterator[None]:
    """A `with` block in which a function listens to durations."""
    monitoring.register_event_duration_secs_listener(callback)
    try:
        yield
    finally:
        monitoring.unregister_event_duration_listener(callback)


def iter_eqns(jaxpr: Any) -> Iterator[Any]:
    """The equations of a program and of the programs in it."""
    yield from jaxpr.eqns
    for inner in core.subjaxprs(jaxpr):
        yield from iter_eqns(inner)


def _dots(fun: Test, *args: Any, **kwargs: Any) -> list[Any]:
    program = primax.make_jaxpr(functools.partial(fun, **kwargs))(*args)
    return [eqn.params for eqn in iter_eqns(program.jaxpr) if eqn.primitive is lax.dot_general_p]


def assert_dot_precision(expected_precision: Any, fun: Test, *args: Any) -> None:
    """Check the precision of all products of matrices in the program of a function."""
    for params in _dots(fun, *args):
        precision = params["precision"]
        for got in precision if isinstance(precision, tuple) else (precision,):
            assert got == expected_precision, f"the precision should be {expected_precision}, is {precision}"


def assert_dot_preferred_element_type(expected: Any, fun: Test, *args: Any, **kwargs: Any) -> None:
    """Check the preferred dtype of the results of all products of matrices in the program of a function."""
    for params in _dots(fun, *args, **kwargs):
        got = params["preferred_element_type"]
        assert got == expected, f"the preferred element type should be {expected}, is {got}"


def fwd_bwd_jaxprs(f: Test, *example_args: Any) -> tuple[Any, Any]:
    """The programs of the forward and of the backward pass of `jax.vjp` of a function."""
    forward, (out, pull) = primax.make_jaxpr(lambda *args: primax.vjp(f, *args), return_shape=True)(*example_args)
    return forward, primax.make_jaxpr(lambda pull, out: pull(out))(pull, out)
