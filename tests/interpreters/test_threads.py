"""Threads work side by side, and caches keep nothing alive."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from processes import HANG

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.interpreters import mlir

pytestmark = pytest.mark.any_word_size

X = np.float32(0.7)


def at_once(*works):
    """Run functions in threads of their own, all starting together; their results, or the first error."""
    barrier = threading.Barrier(len(works))
    results, errors = [None] * len(works), []

    def run(i, work):
        try:
            barrier.wait()
            results[i] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def deep(x, n=30):
    for _ in range(n):
        x = px.jit(lambda y, x=x: lax.sin(y) * x)(x)
    return x


def test_threads_trace_transform_and_run_at_once():
    def work():
        def f(x):
            return deep(x, 4)

        return [
            float(px.jit(f)(X)),
            float(px.grad(f)(X)),
            float(px.jit(px.grad(px.jit(f)))(X)),
            float(px.vmap(f)(X[None])[0]),
            str(px.make_jaxpr(px.grad(f))(X)),
            float(f(X)),
        ]

    alone = work()
    for found in at_once(*[work] * 6):
        assert found[4] == alone[4]
        np.testing.assert_allclose(found[:4] + found[5:], alone[:4] + alone[5:], rtol=1e-5)


def test_threads_meet_one_jitted_function_for_the_first_time_together():
    @px.jit
    def f(x):
        return deep(x)

    want = float(deep(X))
    for value in at_once(*[lambda: float(f(X))] * 8):
        assert value == pytest.approx(want, rel=1e-5)


def test_threads_meet_one_primitive_for_the_first_time_together():
    p = core.Primitive("met_together")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.negate"))
    shapes = [(2,), (3,), (2,), (), (3, 3), ()]

    def work(shape):
        return lambda: p.bind(np.ones(shape, np.float32)).shape

    assert at_once(*map(work, shapes)) == shapes


def test_threads_derive_from_one_program_together():
    f = px.jit(lambda x: deep(x, 20))
    f(X)

    def slope():
        return float(px.grad(f)(X))

    def mapped():
        return float(px.vmap(f)(X[None])[0])

    want = slope(), mapped()
    found = at_once(slope, mapped, slope, mapped, slope, mapped)
    np.testing.assert_allclose(found, want * 3, rtol=1e-5)


def test_options_are_of_the_thread_that_sets_them():
    inside, outside = threading.Event(), threading.Event()

    @px.jit
    def f(x):
        return lax.sin(x) * 2.0

    def wide():
        with px.enable_x64(True):
            inside.set()
            outside.wait(HANG)
            return str(f(1.0).dtype), str(px.grad(f)(1.0).dtype), str(pnp.arange(3.0).dtype)

    def narrow():
        inside.wait(HANG)
        try:
            with px.enable_x64(False):
                return str(f(1.0).dtype), str(px.grad(f)(1.0).dtype), str(pnp.arange(3.0).dtype)
        finally:
            outside.set()

    assert at_once(wide, narrow) == [("float64",) * 3, ("float32",) * 3]
    before = px.config.enable_x64
    at_once(wide)
    assert px.config.enable_x64 == before


def test_a_transformation_in_one_thread_is_not_felt_in_another():
    inside, done = threading.Event(), threading.Event()

    def tracing():
        def f(x):
            inside.set()
            done.wait(HANG)
            return lax.sin(x)

        return str(px.make_jaxpr(f)(X))

    def computing():
        inside.wait(HANG)
        try:
            assert core.current_trace() is core.eval_trace
            return type(lax.sin(X)).__name__, type(px.jit(lambda x: x * 2.0)(X)).__name__
        finally:
            done.set()

    text, kinds = at_once(tracing, computing)
    assert text.count("=") == 1
    assert kinds == ("Array", "Array")


def test_the_recursion_limit_survives_threads_that_nest_deeply():
    limit = sys.getrecursionlimit()

    def work():
        f = lax.sin
        for _ in range(60):
            f = px.jit(lambda x, g=f: g(x) * np.float32(1.0))
        return float(px.grad(f)(X))

    np.testing.assert_allclose(at_once(*[work] * 4), np.cos(0.7), rtol=1e-5)
    assert sys.getrecursionlimit() == limit


class Weight:
    """Something to close over that can be watched."""


def watched():
    """A function, and references to it and to what it closes over."""
    weight, array = Weight(), pnp.arange(5.0) * 3.0

    def f(x):
        assert weight is not None
        return (lax.sin(x) * array.astype(x.dtype)).sum()

    return f, [weakref.ref(weight), weakref.ref(f), weakref.ref(array)]


WAYS = {
    "eager": (lambda f: f, lambda g: g(X)),
    "jit": (px.jit, lambda g: g(X)),
    "jit twice": (lambda f: px.jit(px.jit(f)), lambda g: (g(X), g(X))),
    "grad": (px.grad, lambda g: g(X)),
    "grad jit": (lambda f: px.grad(px.jit(f)), lambda g: g(X)),
    "jit grad jit": (lambda f: px.jit(px.grad(px.jit(f))), lambda g: (g(X), g(X))),
    "vmap jit": (lambda f: px.vmap(px.jit(f)), lambda g: g(np.ones(3, np.float32))),
    "hessian": (lambda f: px.jit(px.hessian(f)), lambda g: g(X)),
    "linearize": (lambda f: lambda x: px.linearize(px.jit(f), x)[1](x), lambda g: g(X)),
    "vjp": (lambda f: lambda x: px.vjp(f, x)[1](x), lambda g: g(X)),
    "make_jaxpr": (px.make_jaxpr, lambda g: str(g(X))),
    "eval_shape": (lambda f: f, lambda g: px.eval_shape(g, X)),
    "lower": (px.jit, lambda g: g.lower(X).compile()(X)),
    "other signatures": (px.jit, lambda g: [g(np.ones(n, np.float32)[:1]) for n in (1, 2)]),
    "static": (lambda f: px.jit(lambda x, n: f(x) * n, static_argnums=1), lambda g: (g(X, 2), g(X, 3))),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_is_dropped_is_freed_with_all_it_closed_over(way):
    transform, call = WAYS[way]
    f, references = watched()
    g = transform(f)
    call(g)
    del f, g
    for _ in range(2):
        gc.collect()
    assert [r() for r in references] == [None] * 3


def test_the_compiled_program_of_a_function_is_freed_with_it():
    f = px.jit(lambda x: lax.sin(x) * 2.0)
    f(X)
    program = f.trace(X).jaxpr
    references = [weakref.ref(program), weakref.ref(program.jaxpr)]
    executables = [weakref.ref(v) for v in program.cache.values() if hasattr(v, "xla")]
    assert len(executables) == 1
    del f, program
    gc.collect()
    assert [r() for r in (*references, *executables)] == [None, None, None]


def test_a_tape_is_freed_with_its_pullback_and_holds_only_what_it_needs():
    x = pnp.arange(4.0)
    y = lax.sin(x)
    unneeded = weakref.ref(y)
    out, pull = px.vjp(lambda x: lax.cos(x).sum(), y * 1.0)
    del y
    tape = weakref.ref(pull.tape.trace)
    gc.collect()
    assert unneeded() is None
    pull(np.ones((), out.dtype))
    del pull
    gc.collect()
    assert tape() is None


def test_arguments_and_results_are_not_kept_by_any_cache():
    f = px.jit(lambda x: x * 2.0)
    x = pnp.arange(4.0)
    y = f(x)
    z = lax.sin(y)
    px.grad(lambda x: f(x).sum())(x)
    references = [weakref.ref(v) for v in (x, y, z)]
    del x, y, z
    gc.collect()
    assert [r() for r in references] == [None] * 3


def test_tracers_are_freed_when_their_transformation_has_ended():
    references = []

    def f(x):
        y = px.jit(lambda z: z * x)(x)
        references.extend([weakref.ref(x), weakref.ref(y)])
        return y

    px.jit(f)(X)
    px.grad(f)(X)
    px.vmap(f)(np.ones(3, np.float32))
    px.jit(px.grad(f))(X)
    gc.collect()
    assert [r() for r in references] == [None] * 8


def test_clear_caches_makes_functions_trace_again_and_frees_their_programs():
    traced = []

    @px.jit
    def f(x):
        traced.append(x.shape)
        return x * 2.0

    f(X)
    program = weakref.ref(f.trace(X).jaxpr)
    f(X)
    assert len(traced) == 1
    px.clear_caches()
    gc.collect()
    assert program() is None
    assert float(f(X)) == pytest.approx(1.4)
    assert len(traced) == 2


def test_a_program_lowered_by_one_thread_is_compiled_by_another():
    lowered = px.jit(lambda x: lax.sin(x) + 1).lower(X)
    stop = threading.Event()

    def lower_on():
        i = 0
        while not stop.is_set():
            i += 1
            px.jit(lambda x, i=i: lax.cos(x) * i).lower(X)
        return i

    def compile_it():
        try:
            return [float(lowered.compile()(X)) for _ in range(5)], lowered.as_text()
        finally:
            stop.set()

    count, (results, text) = at_once(lower_on, compile_it)
    assert count > 0
    assert results == pytest.approx([np.sin(X) + 1] * 5)
    assert "stablehlo.sine" in text


FIRST_PROGRAMS = """
import threading
import numpy as np
import primax as px

barrier = threading.Barrier(6)

def work(i):
    barrier.wait()
    for n in range(6):
        found = float(px.jit(lambda x: px.grad(px.lax.sin)(x) * i)(np.float32(n)))
        assert abs(found - np.cos(n) * i) < 1e-4

threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1, 2, 4, 8, 16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""


@pytest.mark.slow
def test_the_first_programs_of_a_process_are_compiled_by_many_threads():
    """The compiler loads dialects into contexts then, which crashed where threads shared one."""
    for _ in range(12):
        ran = subprocess.run([sys.executable, "-c", FIRST_PROGRAMS], capture_output=True, text=True, timeout=HANG)
        assert (ran.returncode, ran.stdout.strip()) == (0, "done"), ran.stderr[-2000:]
