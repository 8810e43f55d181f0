"""Traces: which one handles a bind, and what tracers refuse."""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.core.trace import enter, thread
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.float32(2.0)


class Logged(core.Tracer):
    __slots__ = ("aval", "value")

    def __init__(self, trace, value):
        self._trace = trace
        self.value = value
        self.aval = core.get_aval(value)


class LoggingTrace(core.Trace):
    """Computes, and notes which primitives were applied to its tracers."""

    __slots__ = ("log",)
    transformation = "logging"

    def __init__(self, parent):
        super().__init__(parent)
        self.log = []

    def process(self, primitive, args, params):
        mine = any(isinstance(x, Logged) and x._trace is self for x in args)
        values = [x.value if isinstance(x, Logged) and x._trace is self else x for x in args]
        with core.set_current_trace(self.parent):
            out = primitive.bind(*values, **params)
        if not mine:
            return out
        self.log.append(primitive.name)
        return [Logged(self, x) for x in out] if primitive.multiple_results else Logged(self, out)


def logged(f, x):
    trace = LoggingTrace(core.current_trace())
    try:
        with core.set_current_trace(trace):
            out = f(Logged(trace, x))
    finally:
        trace.end()
    return out.value, trace.log


def test_a_trace_of_ones_own_is_a_class_with_one_method():
    value, log = logged(lambda x: lax.sin(x) * lax.cos(X) + px.jit(lambda y: y * 2.0)(x), X)
    assert float(value) == pytest.approx(np.sin(2.0) * np.cos(2.0) + 4.0, rel=1e-6)
    assert log == ["sin", "mul", "jit", "add"]


def test_it_nests_with_the_transformations_there_are():
    def f(x):
        return logged(lambda y: lax.sin(y) * x, x)[0]

    def plain(x):
        return lax.sin(x) * x

    for transform in (lambda f: f, px.grad, px.jit, lambda f: px.jit(px.grad(f)), lambda f: px.grad(px.grad(f))):
        assert float(transform(f)(X)) == pytest.approx(float(transform(plain)(X)), rel=1e-6)
    xs = np.arange(3.0, dtype=np.float32)
    np.testing.assert_allclose(px.vmap(f)(xs), px.vmap(plain)(xs), rtol=1e-6)
    value, log = logged(px.grad(plain), X)
    assert float(value) == pytest.approx(float(px.grad(plain)(X)), rel=1e-6)
    assert "sin" in log
    assert "cos" in log


def test_a_trace_without_process_says_what_to_define():
    class Nothing(core.Trace):
        __slots__ = ()

    with core.set_current_trace(Nothing(core.current_trace())), pytest.raises(NotImplementedError, match="process"):
        lax.sin(X)


def test_its_escaped_tracers_are_refused_by_its_name():
    leaks = []
    logged(lambda x: leaks.append(x) or x, X)
    with pytest.raises(px.errors.UnexpectedTracerError, match="escaped from logging"):
        lax.sin(leaks[0])
    with pytest.raises(px.errors.UnexpectedTracerError, match="escaped from logging"):
        px.make_jaxpr(lambda: lax.sin(leaks[0]))()


def test_the_current_trace_is_restored_whatever_happens():
    before = core.current_trace()
    with contextlib.suppress(ZeroDivisionError), core.set_current_trace(LoggingTrace(before)):
        raise ZeroDivisionError
    assert core.current_trace() is before
    trace = LoggingTrace(before)
    assert enter(trace) is before
    assert core.current_trace() is trace
    assert enter(before) is trace


def test_every_thread_starts_at_evaluation():
    seen = []
    with core.set_current_trace(LoggingTrace(core.current_trace())):
        other = threading.Thread(target=lambda: seen.append((core.current_trace(), thread.depth, thread.axes)))
        other.start()
        other.join()
    assert seen == [(core.eval_trace, 0, {})]


def test_axes_are_known_while_their_vmap_lasts():
    seen = []

    def f(x):
        seen.append(dict(thread.axes))
        px.vmap(lambda y: seen.append(dict(thread.axes)) or y, axis_name="j", axis_size=3)(np.ones(3))
        return x

    px.vmap(f, axis_name="i")(np.ones(2))
    assert seen == [{"i": 2}, {"i": 2, "j": 3}]
    assert thread.axes == {}


def staged_tracer(check):
    px.make_jaxpr(lambda x: check(x) or x)(np.ones((2, 3), np.float32))


def test_a_tracer_knows_its_type():
    def check(x):
        assert (x.shape, x.dtype, x.ndim, x.size, x.weak_type) == ((2, 3), np.float32, 2, 6, False)
        assert len(x) == 2
        assert repr(x) == "StagingTracer<f32[2,3]>"
        assert isinstance(x, core.Tracer)

    staged_tracer(check)


@pytest.mark.parametrize(
    ("convert", "error", "message"),
    [
        (bool, px.errors.TracerBoolConversionError, "boolean conversion of traced array.*lax.cond"),
        (int, px.errors.ConcretizationTypeError, r"x.astype\(int\)"),
        (float, px.errors.ConcretizationTypeError, "Abstract tracer value .* as a Python float"),
        (complex, px.errors.ConcretizationTypeError, "as a Python complex"),
        (lambda x: range(x), px.errors.TracerIntegerConversionError, "fori_loop"),
        (
            lambda x: [1, 2, 3][x],
            px.errors.TracerIntegerConversionError,
            r"__index__\(\) method was called on traced array.*lax.switch",
        ),
        (np.asarray, px.errors.TracerArrayConversionError, "primax.numpy instead of numpy"),
        (np.sin, px.errors.TracerArrayConversionError, "primax.numpy instead of numpy"),
        (lambda x: x if x else -x, px.errors.TracerBoolConversionError, "inside make_jaxpr of f"),
        (pickle.dumps, px.errors.ConcretizationTypeError, "asks for its pickle"),
        (hash, TypeError, "unhashable|hash"),
    ],
)
def test_what_needs_a_value_is_refused_with_the_way_out(convert, error, message):
    def f(x):
        return convert(lax.convert_element_type(x, np.int32))

    with pytest.raises(error, match=f"(?s){message}") as caught:
        px.make_jaxpr(f)(1)
    assert error in (TypeError, type(caught.value))


def test_the_refusal_says_where_the_tracer_was_made():
    def f(x):
        y = lax.sin(x)
        return y if y > 0 else x

    with pytest.raises(px.errors.TracerBoolConversionError, match="It was made by gt at") as error:
        px.jit(f)(1.0)
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(error.value)
    with pytest.raises(px.errors.TracerBoolConversionError, match="It is argument x of <lambda>"):
        px.jit(lambda x: 1.0 if x else 2.0)(True)


def test_under_differentiation_of_known_values_tracers_convert():
    def f(x):
        assert bool(x > 0)
        assert float(x) == 2.0
        assert int(x) == 2
        assert [10, 20, 30][int(x)] == 30
        return x * float(x)

    assert float(px.grad(f)(2.0)) == 2.0


def test_a_copy_of_a_tracer_is_that_tracer():
    assert float(px.grad(lambda x: copy.copy(x) * copy.deepcopy({"x": x})["x"])(3.0)) == 6.0


def test_a_tracer_is_a_list_or_bytes_if_it_has_a_value():
    seen = []
    px.grad(lambda x: (seen.append((x.tolist(), x.tobytes())), x[0])[1])(np.float32([1.5, 2.5]))
    assert seen == [([1.5, 2.5], np.float32([1.5, 2.5]).tobytes())]
    with pytest.raises(px.errors.ConcretizationTypeError, match=r"`x.tolist\(\)` asks for its list"):
        px.jit(lambda x: x.tolist())(1.0)


@pytest.mark.parametrize(
    "name", ["addressable_shards", "committed", "global_shards", "is_fully_addressable", "is_fully_replicated"]
)
def test_a_tracer_refuses_attributes_that_only_arrays_have(name: str) -> None:
    for transform in (px.jit, px.vmap, px.grad):
        with pytest.raises(px.errors.ConcretizationTypeError, match=f"asks for its {name}, but"):
            transform(lambda x: (getattr(x, name), x.sum())[1])(np.ones(2, np.float32))


@pytest.mark.parametrize(
    "name",
    ["addressable_data", "delete", "devices", "is_deleted", "on_device_size_in_bytes", "unsafe_buffer_pointer"],
)
def test_a_tracer_refuses_methods_that_only_arrays_have(name: str) -> None:
    with pytest.raises(px.errors.ConcretizationTypeError, match=f"asks for its {name}, but"):
        px.jit(lambda x: (getattr(x, name)(), x)[1])(1.0)


@pytest.mark.parametrize("shape", [(3,), (0,), (1, 2)])
def test_arrays_without_one_truth_value_are_refused_alike_where_they_are_traced(shape):
    x = px.numpy.ones(shape)
    for call in (bool, px.jit(bool), lambda x: px.vmap(bool)(x[None])):
        with pytest.raises(ValueError, match="only an array of one element is true or false"):
            call(x)
    with pytest.raises(px.errors.TracerBoolConversionError):
        px.jit(bool)(px.numpy.ones((1, 1)))
