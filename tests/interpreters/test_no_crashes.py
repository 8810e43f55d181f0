"""What jaxlib would end the process for raises an error, or works. Each test runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from processes import HANG

pytestmark = pytest.mark.any_word_size

BEGINNING = """
import copy, operator, os, pickle, signal, sys, threading
import numpy as np
import primax as px
import primax.numpy as pnp
from primax import lax
from primax.errors import DeletedArrayError, XlaError

def error_of(fun, *args):
    try:
        fun(*args)
    except Exception as error:
        return error
    raise AssertionError("no error")
"""


def run(program: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"


def test_elements_of_a_deleted_or_donated_array_cannot_be_read() -> None:
    run("""
readers = [
    lambda x: x[0], lambda x: x[1:2], lambda x: x[None], list, reversed, max, sum, iter,
    lambda x: x.item(0), np.asarray, lambda x: pnp.ones(5)[x], lambda x: np.ones(5)[x],
    lambda x: pnp.ones(5).at[x].set(1), lambda x: x.addressable_data(0)[0], lambda x: pnp.take(x, 0),
    lambda x: pnp.unstack(x), lambda x: x + 1, lambda x: x.copy(), lambda x: px.jit(lambda *xs: xs)(*[x] * 9),
    lambda x: lax.scan(lambda c, y: (c, y), 0, x), lambda x: px.vmap(lambda y: y + 1)(x), copy.deepcopy, pickle.dumps,
]
for read in readers:
    for end in (lambda x: x.delete(), px.jit(lambda y: y + 1, donate_argnums=0)):
        x = pnp.arange(4)
        end(x)
        assert isinstance(error_of(lambda: list(read(x))), DeletedArrayError), read
        assert x.platform() == "cpu" and x.shape == (4,) and x.is_deleted() and "deleted" in repr(x)
""")


def test_a_program_has_constants_of_its_own_when_the_array_is_donated_or_deleted() -> None:
    run("""
for end in (px.jit(lambda y: y + 1, donate_argnums=0), lambda x: x.delete()):
    x = pnp.arange(4)
    f = px.jit(lambda: x + 1)
    f(), f()
    end(x)
    assert x.is_deleted() and isinstance(error_of(lambda: x + 1), DeletedArrayError)
    for _ in range(3):
        assert f().tolist() == [1, 2, 3, 4]
y = pnp.arange(4)
assert "must not be another argument" in str(error_of(px.jit(lambda a, b: a + b, donate_argnums=0), y, y))
add = px.jit(lambda a: a + y, donate_argnums=0)
assert add(y).tolist() == [0, 2, 4, 6] and y.is_deleted()
for _ in range(3):
    assert add(pnp.ones(4, y.dtype)).tolist() == [1, 2, 3, 4]
""")


def test_threads_may_donate_one_array_and_one_of_them_wins() -> None:
    run("""
donating, reading = px.jit(lambda y: y + 1, donate_argnums=0), px.jit(lambda y: y + 2)
donating(pnp.arange(1000.0)), reading(pnp.arange(1000.0))
others = [
    donating, np.asarray, reading, lambda x: x + 1, lambda x: (x.is_ready(), x.platform(), x[0], x.__dlpack__()),
    lambda x: x.delete(), lambda x: px.device_put(x, px.devices()[0]),
]
for other in others:
    for _ in range(60):
        x = pnp.arange(1000.0).block_until_ready()
        barrier, outcomes = threading.Barrier(4), []
        def work(fun):
            barrier.wait()
            try:
                fun(x)
                outcomes.append("done")
            except (DeletedArrayError, XlaError, ValueError) as error:
                outcomes.append(error)
        threads = [threading.Thread(target=work, args=(fun,)) for fun in (donating, donating, other, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == 4 and "done" in outcomes, outcomes
        if other is donating:
            errors = [outcome for outcome in outcomes if outcome != "done"]
            assert len(errors) == 3 and all(isinstance(error, DeletedArrayError) for error in errors)
""")


def test_threads_may_donate_one_array_to_programs_over_several_devices() -> None:
    run("""
px.config.update("num_cpu_devices", 4)
where = px.NamedSharding(px.make_mesh((4,), ("i",)), px.P("i"))
donating = px.jit(lambda state: [x + 1 for x in state], donate_argnums=0)
compiled = donating.lower([px.device_put(np.arange(8.0), where)] * 2).compile()
for call in (donating, compiled):
    for _ in range(50):
        state, outcomes = [px.device_put(np.arange(8.0) + i, where) for i in range(2)], []
        barrier = threading.Barrier(4)
        def work():
            barrier.wait()
            try:
                outcomes.append([x.tolist() for x in call(state)])
            except DeletedArrayError as error:
                outcomes.append(str(error))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count([(np.arange(8.0) + i + 1).tolist() for i in range(2)]) == 1, outcomes
        assert sum("was donated to" in outcome for outcome in outcomes if isinstance(outcome, str)) == 3
""")


def test_functions_without_weak_references_are_compiled_as_often_as_one_likes() -> None:
    run("""
class NoReferences:
    __slots__ = ()
    def __call__(self, x):
        return x[0] + 1
x = pnp.arange(3.0)
for fun, argument, value in (
    (operator.itemgetter(0), x, 0.0), (NoReferences(), x, 1.0), (operator.methodcaller("sum"), x, 3.0),
    ((1.5).__eq__, 1.5, None),
):
    for _ in range(3):
        jitted = px.jit(fun)
        for _ in range(3):
            if value is None:
                assert isinstance(error_of(jitted, argument), TypeError)
            else:
                assert jitted(argument) == value
assert "primax.numpy" in str(error_of(px.jit(np.sin), 1.0)) and "primax.numpy" in str(error_of(px.jit(np.sin), 1.0))
""")


def test_the_result_of_a_computation_that_failed_raises_when_it_is_read() -> None:
    run("""
for reader in (
    lambda x: x[0], float, np.asarray, str, list, pickle.dumps, lambda x: x.__dlpack__(), lambda x: x.item(),
    px.device_get, lambda x: (x + 1)[0], lambda x: pnp.ones(3)[x], lambda x: x.unsafe_buffer_pointer(),
    lambda x: x.block_until_ready(),
):
    for dtype in ("float32", "bfloat16"):
        x = pnp.linspace(0, 1, 2**45, dtype=dtype)
        assert isinstance(error_of(reader, x), (XlaError, TypeError)), reader
assert float(pnp.linspace(0, 1, 3)[1]) == 0.5
""")


FORKED = """
def in_child(fun):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            os._exit(0 if fun() else 1)
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
        os._exit(2)
    return os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_to_spawn_at_its_first_computation() -> None:
    run(
        FORKED
        + """
f = px.jit(lambda x: x + 1)
x = pnp.arange(5.0)
f(x), f(x)
pending = pnp.ones((1500, 1500)) @ pnp.ones((1500, 1500))
refused = lambda fun, *args: "spawn" in str(error_of(fun, *args))
for fun in (
    f, lambda x: x + 1, px.jit(lambda x: x * 2), px.jit(lambda x: x).lower, lambda x: pnp.zeros(3),
    lambda x: px.device_put(x, px.devices()[0]),
):
    assert in_child(lambda: refused(fun, x)), fun
assert in_child(lambda: np.asarray(x).sum() == 10 and "add" in str(px.make_jaxpr(lambda x: x + 1)(x)))
assert in_child(lambda: pending.is_ready() or refused(np.asarray, pending))
assert f(x)[0] == 1.0
"""
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_before_anything_is_computed_works() -> None:
    run(
        FORKED
        + "assert in_child(lambda: px.jit(lambda x: x + 1)(1.0) == 2.0) and in_child(lambda: pnp.ones(2)[0] == 1)"
    )


def test_an_argument_too_large_for_memory_is_refused_before_xla_compiles_for_it() -> None:
    run("""
terabytes = np.broadcast_to(np.float32(1), (2**12, 2**30))
for call in (pnp.transpose, px.jit(pnp.transpose), px.jit(lambda x: pnp.flip(x).sum())):
    assert "RESOURCE_EXHAUSTED" in str(error_of(call, terabytes))
assert px.jit(lambda x, y: y + x.shape[0])(terabytes, 1.0) == 2**12 + 1
""")


def test_an_argument_of_many_bytes_is_computed_with() -> None:
    run("""
from primax.interpreters.runtime import eval as evaluation
evaluation._LARGE = 8
x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
for double in (lambda x, y: pnp.transpose(x) * y, px.jit(lambda x, y: pnp.transpose(x) * y, donate_argnums=0)):
    for _ in range(2):
        out = double(x, 2.0)
        np.testing.assert_array_equal(out, 2 * x.T)
        assert not out._b._committed
""")
