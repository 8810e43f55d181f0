"""Compiled programs run on flat arguments, in the order of their effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.interpreters.runtime import executable as executables
from primax.interpreters.runtime.executable import effects_barrier, is_committed, load_executable, runtime_tokens
from primax.interpreters.runtime.options import compilation_cache_dir
from primax.interpreters.runtime.pipeline import Target, executable_for
from primax.interpreters.runtime.sharding.device_assignment import choose_devices

X = np.arange(3, dtype=np.float32)


def executable_of(fun: Any, *args: Any) -> Any:
    closed = px.make_jaxpr(fun)(*args)
    return executable_for(closed, Target("f", choose_devices(closed, args)))


def test_it_takes_arrays_numpy_arrays_and_scalars() -> None:
    executable = executable_of(lambda x, y: x * y, X, np.float32(2))
    for args in ([X, np.float32(2)], [pnp.asarray(X), np.float32(2)], [X, pnp.float32(2)]):
        (out,) = executable(args)
        assert out.tolist() == [0, 2, 4]


def test_results_are_committed_if_an_argument_is() -> None:
    executable = executable_of(lambda x: x + 1, X)
    committed = px.device_put(X, px.devices()[0])
    assert is_committed([committed])
    assert not is_committed([X, pnp.asarray(X)])
    assert executable([committed])[0].committed
    assert not executable([X])[0].committed


def test_constants_precede_the_arguments_and_deleted_ones_are_refused() -> None:
    weights = pnp.asarray(X)
    executable = executable_of(lambda x: x + weights, X)
    assert len(executable.in_shardings) == 2
    assert executable([X])[0].tolist() == [0, 2, 4]
    executable.consts[0].delete()
    with pytest.raises(px.errors.DeletedArrayError):
        executable([X])


def test_no_execution_refuses_every_run() -> None:
    executable = executable_of(lambda x: x + 1, X)
    with px.no_execution(True), pytest.raises(RuntimeError, match="no_execution is on"):
        executable([X])


def test_only_programs_without_effects_and_callbacks_are_plain() -> None:
    plain = executable_of(lambda x: x + 1, X)
    assert (plain.plain, plain.calls_python, plain.has_tokens) == (True, False, False)
    shape = px.ShapeDtypeStruct((3,), np.float32)
    calling = executable_of(lambda x: px.pure_callback(lambda x: x, shape, x), X)
    assert (calling.plain, calling.calls_python) == (False, True)
    printing = executable_of(lambda x: px.debug.print("{}", x), X)
    assert (printing.plain, printing.calls_python, printing.has_tokens) == (False, False, True)


def test_few_programs_that_communicate_are_pending() -> None:
    devices = px.devices()[:4]
    mesh = px.sharding.Mesh(np.array(devices), ("i",))
    x = px.device_put(np.ones(4, np.float32), px.NamedSharding(mesh, px.P("i")))

    @px.jit
    def mean(x):
        for _ in range(10):
            x = px.numpy.broadcast_to(x.mean(), 4) + 0 * x
        return x

    effects_barrier()
    y = x
    for _ in range(300):  # without a limit, XLA finds a deadlock and ends the process
        y = mean(y)
        assert len(runtime_tokens.unordered) <= 8
    assert y.tolist() == [1, 1, 1, 1]
    effects_barrier()
    z = px.jit(lambda x: x + 1)(x)  # its devices do not wait for each other
    assert z.tolist() == [2, 2, 2, 2]
    assert not runtime_tokens.unordered


def test_tangents_of_integers_stay_on_the_host() -> None:
    zeros = np.zeros(2, px.dtypes.float0)
    executable = executable_of(lambda t: t, zeros)
    (out,) = executable([zeros])
    assert type(out) is np.ndarray
    assert out.dtype == px.dtypes.float0


def test_the_barrier_waits_for_the_effects_of_this_thread() -> None:
    seen = []
    executable_of(lambda x: px.debug.callback(seen.append, x), X)([X])
    assert runtime_tokens.unordered
    effects_barrier()
    assert len(seen) == 1
    assert not runtime_tokens.unordered


def test_ordered_effects_have_one_token_for_each_device() -> None:
    seen: list[float] = []
    for i in range(3):
        executable_of(lambda x: px.debug.callback(lambda x: seen.append(float(x)), x, ordered=True), np.float32(0))(
            [np.float32(i)]
        )
    assert len(runtime_tokens.ordered) == 1
    (effect, _) = next(iter(runtime_tokens.ordered))
    executables.wait_for_effect(effect)
    assert seen == [0, 1, 2]
    assert not runtime_tokens.ordered


def test_a_serialized_program_is_loaded() -> None:
    device = px.devices()[0]
    with compilation_cache_dir(None):  # XLA cannot serialize once more what it has loaded
        executable = executable_of(lambda x, y: y * 3, X, X)
    stored = device.client.serialize_executable(executable.xla)
    loaded = load_executable(stored, device, executable.in_avals, executable.out_avals, [], executable.kept)
    assert loaded([X, X])[0].tolist() == [0, 3, 6]
    assert not loaded.plain
