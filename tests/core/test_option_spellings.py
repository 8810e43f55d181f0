"""Options as code written for JAX spells them: names, `read`, environment variables; and what the checks do."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from heap import freeze_heap

import primax as px
import primax.numpy as pnp
from primax.core.trace_state import thread
from primax.extend.options import config, log_compiles


def in_new_process(code: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PRIMAX_", "JAX_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture
def leaked():
    """A list that traced functions put their arguments in."""
    kept = []
    yield kept
    kept.clear()


def test_names_of_jax_are_read_and_updated():
    before = log_compiles.value
    try:
        config.update("jax_log_compiles", not before)
        assert config.jax_log_compiles is (not before)
        assert config.read("jax_log_compiles") is config.read("log_compiles") is (not before)
    finally:
        config.update("jax_log_compiles", before)
    assert config.jax_platform_name == config.platforms


def test_an_unknown_name_of_jax_is_refused_by_read_update_and_attribute():
    for ask in (
        lambda: config.read("jax_no_such"),
        lambda: config.update("jax_no_such", 1),
        lambda: config.jax_no_such,
    ):
        with pytest.raises(AttributeError, match="Unrecognized config option: 'jax_no_such'"):
            ask()


def test_variables_of_jax_set_options_unless_those_of_primax_do():
    code = "from primax import config; print(config.enable_x64, config.numpy_rank_promotion)"
    assert in_new_process(code, JAX_ENABLE_X64="1", JAX_NUMPY_RANK_PROMOTION="raise") == "True raise\n"
    assert in_new_process(code, JAX_ENABLE_X64="1", PRIMAX_ENABLE_X64="0") == "False allow\n"
    assert "environment variable JAX_ENABLE_X64 must be True or False" in in_new_process(code, JAX_ENABLE_X64="maybe")


def test_the_number_of_devices_is_set_before_the_first_use_and_not_after():
    code = """
import primax as px
px.config.update("jax_num_cpu_devices", 3)
print(len(px.devices()))
px.config.update("jax_num_cpu_devices", 3)
try:
    px.config.update("jax_num_cpu_devices", 2)
except RuntimeError as error:
    print(error)
"""
    assert in_new_process(code) == "3\nnum_cpu_devices: value must be set before the host is first used, got 2\n"


def test_the_first_of_the_platforms_is_the_default():
    assert in_new_process("import primax as px; print(px.default_backend())", JAX_PLATFORMS="cpu,cuda") == "cpu\n"
    text = in_new_process("import primax as px; px.numpy.zeros(1)", JAX_PLATFORMS="moon")
    assert "there is no platform 'moon'; there are ['cpu']" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a + b,
        lambda a, b: pnp.add(a, b),
        lambda a, b: pnp.clip(b, a, None),
        lambda a, b: pnp.allclose(a, b),
        lambda a, b: px.jit(lambda x, y: x * y)(a, b),
        lambda a, b: pnp.linspace(a, b, 3),
        lambda a, b: px.nn.logsumexp(b, b=a, axis=1),
        lambda a, b: px.scipy.stats.norm.pdf(a, b),
    ],
)
def test_operands_of_different_ranks_are_refused_or_warned_of_as_asked(call):
    a, b = pnp.ones(3), pnp.ones((2, 3))
    call(a, b)
    with px.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="numpy_rank_promotion is 'raise'"):
        call(a, b)
    px.clear_caches()  # a function of several operations warns once, where its program is traced
    with px.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="operands of shapes") as caught:
        call(a, b)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: pnp.float32(1) + b,
        lambda a, b: pnp.where(a > 0, b, 0.0),
        lambda a, b: pnp.matmul(pnp.ones((2, 2, 3)), pnp.ones((3, 3))),
        lambda a, b: pnp.broadcast_arrays(a, b),
        lambda a, b: b.at[...].set(a),
        lambda a, b: b[pnp.zeros(2, int), pnp.zeros((3, 2), int)],
        lambda a, b: pnp.take_along_axis(b, pnp.zeros((1, 3), int), 0),
        lambda a, b: pnp.select([a > 0], [b]),
        lambda a, b: pnp.var(b, axis=0),
        lambda a, b: pnp.cov(b),
        lambda a, b: px.nn.softmax(b),
        lambda a, b: pnp.cross(a, b),
        lambda a, b: pnp.isin(a, b),
        lambda a, b: px.random.uniform(px.random.key(0), (2, 3), minval=a),
        lambda a, b: px.vmap(lambda x, y: x + y, (None, 0))(a, b),
        lambda a, b: pnp.polyval(a, b),
        lambda a, b: pnp.vander(a),
        lambda a, b: pnp.interp(b, a, a),
        lambda a, b: pnp.percentile(b, 50),
        lambda a, b: pnp.outer(a, a),
    ],
)
def test_functions_that_broadcast_as_part_of_what_they_do_are_not_refused(call):
    with px.numpy_rank_promotion("raise"):
        call(pnp.ones(3), pnp.ones((2, 3)))


@pytest.mark.parametrize(
    "name, run",
    [
        ("jit", lambda f: px.jit(f)(1.0)),
        ("differentiation", lambda f: px.grad(f)(1.0)),
        ("differentiation", lambda f: px.vjp(f, 1.0)),
        ("vmap", lambda f: px.vmap(f)(pnp.ones(3))),
        ("scan", lambda f: px.lax.scan(lambda c, x: (f(c), x), 1.0, pnp.ones(3))),
        ("make_jaxpr", lambda f: px.make_jaxpr(f)(1.0)),
    ],
)
def test_a_tracer_that_is_kept_is_named_with_what_holds_it(name, run, leaked):
    def keeps(x):
        leaked.append(x)
        return x * 2.0

    with px.checking_leaks(), pytest.raises(px.errors.UnexpectedTracerError) as caught:
        run(keeps)
    assert f"{name}" in str(caught.value)
    assert "tracers still exist" in str(caught.value)
    assert "It is in a list, at 0" in str(caught.value)


def test_functions_that_keep_nothing_pass_the_check_of_leaks():
    f = px.custom_vjp(pnp.sin)
    f.defvjp(lambda x: (pnp.sin(x), x), lambda x, ct: (ct * pnp.cos(x),))
    freeze_heap()  # a search is a collection
    with px.check_tracer_leaks():
        px.jit(px.vmap(px.grad(f)))(pnp.ones(3))
        px.hessian(lambda x: px.lax.fori_loop(0, 3, lambda i, c: c * x, 1.0) * px.checkpoint(pnp.sin)(x))(2.0)
        px.jit(px.linearize(pnp.sin, 1.0)[1])(2.0)
        with pytest.raises(ZeroDivisionError):
            px.jit(lambda x: 1 // 0)(1.0)
        px.jit(lambda x: x)(1.0)
    assert thread.ended == ()


def test_nothing_is_traced_under_no_tracing_but_what_is_compiled_runs():
    f = px.jit(lambda x: x * 3.0)
    f(2.0)
    with px.no_tracing():
        assert float(f(4.0)) == 12.0
        with pytest.raises(RuntimeError, match="no_tracing is on"):
            f(pnp.ones(3))
        with pytest.raises(RuntimeError, match="make_jaxpr of <lambda>: no_tracing is on"):
            px.make_jaxpr(lambda x: x)(1.0)


def test_nothing_is_run_under_no_execution_but_may_be_lowered():
    f = px.jit(lambda x: x * 5.0)
    f(2.0)
    with px.no_execution():
        with pytest.raises(RuntimeError, match="no_execution is on"):
            f(2.0)
        f.lower(2.0)
        px.device_put(1.0)
    assert float(f(2.0)) == 10.0


def test_programs_are_checked_as_they_are_made_if_asked_for():
    wrong = px.extend.core.Primitive("wrong")
    wrong.def_abstract_eval(lambda x: x)

    def badly_typed(x):
        y = wrong.bind(x)
        y._var.aval = px.extend.core.ShapedArray((7,), np.float32)
        return y

    px.make_jaxpr(badly_typed)(1.0)
    with px.enable_checks(), pytest.raises(px.extend.core.JaxprTypeError):
        px.make_jaxpr(badly_typed)(1.0)


@pytest.mark.parametrize(
    "first, second, difference",
    [
        ((1.0,), (np.ones(3, np.float32),), r"argument\[0\] is f32\[3\], earlier f32\[\]"),
        (({"a": 1.0},), ({"a": 1.0, "b": 1.0},), "the arguments have the structure"),
        ((np.float32(1),), (1.0,), r"f32\[\] \(weakly typed\), earlier f32\[\]"),
        ((1.0, 2), (1.0, 3), "the static arguments are 1=3, earlier 1=2"),
    ],
)
@pytest.mark.usefixtures("in_32_bits")
def test_a_miss_of_the_cache_is_explained_in_one_line(first, second, difference, caplog):
    f = px.jit(lambda x, n=1: x, static_argnums=1)
    with px.explain_cache_misses(), caplog.at_level(logging.WARNING, "primax"):
        f(*first)
        f(*second)
        f(*second)
    fresh, again = [record.getMessage() for record in caplog.records]
    assert "for the first time" in fresh
    assert __file__ in again
    assert re.search(difference, again), again


def test_a_miss_of_the_cache_is_compared_with_the_most_similar_earlier_call(caplog):
    f = px.jit(lambda *args, flag=0: None, static_argnames="flag")
    x, y = np.ones(3, np.float32), np.ones((3, 3), np.float32)
    with px.explain_cache_misses(), caplog.at_level(logging.WARNING, "primax"):
        for args in ((x, x), ({"a": x, "b": y},), (y, y), (x, x[:2]), ({"a": y},), (y, y[:2])):
            f(*args)
        f(y, y, flag=1)
        f(1, 1)
    of_y, of_part, of_dict, of_row, of_flag, of_ints = (text.partition(": ")[2] for text in caplog.messages[2:])
    assert of_y.startswith("argument[0] is f32[3,3], earlier f32[3]; argument[1] is f32[3,3]")
    assert of_part == "argument[1] is f32[2], earlier f32[3]"
    assert of_dict.endswith("earlier PyTreeDef((({'a': *, 'b': *},), {}))")
    assert of_row == "argument[1] is f32[2,3], earlier f32[3,3]"
    assert of_flag == "the static arguments are flag=1, earlier none"
    assert of_ints.count("earlier") == 2


def test_an_option_that_changed_is_the_explanation(caplog):
    f = px.jit(lambda x: x)
    f(1.0)
    with px.explain_cache_misses(), caplog.at_level(logging.WARNING, "primax"), px.default_matmul_precision("high"):
        f(1.0)
    assert "the option default_matmul_precision is 'high', earlier None" in caplog.text


def test_transfers_that_nobody_asked_for_are_refused():
    x = np.ones(3, np.float32)
    on_device = px.device_put(x)
    with px.transfer_guard("disallow"):
        with pytest.raises(px.errors.XlaError, match="Disallowed host-to-device transfer"):
            pnp.asarray(x)
        with pytest.raises(px.errors.XlaError, match="Disallowed host-to-device transfer"):
            px.jit(lambda y: y)(x)
        assert px.device_get(px.device_put(x)).tolist() == [1.0, 1.0, 1.0]
        px.jit(lambda y: y)(on_device)
        with px.transfer_guard_host_to_device("allow"):
            pnp.asarray(x)
        with px.transfer_guard("disallow_explicit"), pytest.raises(px.errors.XlaError, match="Disallowed"):
            px.device_put(x)
        with pytest.raises(px.errors.XlaError, match="Disallowed"):
            pnp.asarray(x)
    pnp.asarray(x)


def test_a_guard_for_the_process_holds_in_other_threads():
    found = []

    def look():
        try:
            pnp.asarray(np.ones(3))
        except px.errors.XlaError as error:
            found.append(str(error))

    config.update("jax_transfer_guard_host_to_device", "disallow")
    try:
        other = threading.Thread(target=look)
        other.start()
        other.join()
    finally:
        config.update("jax_transfer_guard_host_to_device", None)
    assert len(found) == 1


def test_new_values_are_given_by_the_keywords_of_jax():
    with px.enable_x64(new_val=True), px.disable_jit(disable=True):
        assert config.enable_x64
        assert config.disable_jit
    with pytest.raises(TypeError, match="enable_x64: the new value must be given as new_val, got disable=True"):
        px.enable_x64(disable=True)


@pytest.mark.parametrize(
    ("variables", "count"), [({}, 8), ({"PRIMAX_NUM_CPU_DEVICES": "3"}, 3), ({"JAX_NUM_CPU_DEVICES": "-1"}, 8)]
)
def test_the_flag_of_xla_gives_the_host_devices_unless_the_option_is_set(variables, count):
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", **variables}
    assert in_new_process("import primax as px; print(len(px.devices()))", **flags) == f"{count}\n"


def test_a_static_argument_that_was_not_given_before_is_told(caplog):
    f = px.jit(lambda x, flag=False: x, static_argnames="flag")
    f(1.0)
    with px.explain_cache_misses(), caplog.at_level(logging.WARNING, "primax"):
        f(1.0, flag=True)
    assert caplog.messages[-1].endswith("the static arguments are flag=True, earlier none")
