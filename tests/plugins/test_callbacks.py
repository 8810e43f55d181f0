"""Calls from programs back to Python: values, transformations, effects and errors."""

from __future__ import annotations

import gc
import pickle
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core, effects
from primax.extend.interpreters import mlir
from primax.interpreters.runtime.executable import Executable
from primax.plugins.callbacks import progress

F32 = px.ShapeDtypeStruct((), np.float32)
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


def like(x: Any) -> px.ShapeDtypeStruct:
    return px.ShapeDtypeStruct(np.shape(x), x.dtype)


def both(f: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function, and its compiled form."""
    return [f, px.jit(f)]


@pytest.fixture
def log() -> Iterator[list[Any]]:
    written: list[Any] = []
    yield written
    px.effects_barrier()


def test_a_callback_receives_arrays_and_returns_whatever_numpy_takes_for_some() -> None:
    kinds: list[Any] = []

    def callback(tree: Any, *, scale: Any) -> Any:
        kinds.extend(type(x) for x in (tree["a"], tree["b"][0], scale))
        return [2 * tree["a"], np.asarray(tree["b"][0]) * int(scale)]

    def f(a: Any, b: Any) -> Any:
        shapes = {"x": px.ShapeDtypeStruct((2,), np.float32), "y": px.ShapeDtypeStruct((3,), np.int32)}
        return px.pure_callback(callback, shapes, {"a": a, "b": [b]}, scale=2)

    with px.enable_x64(False):
        for g in both(f):
            out = g(np.float32([1, 2]), np.int32([1, 2, 3]))
            assert out.keys() == {"x", "y"}
            twice, scaled = out.values()
            assert twice.tolist() == [2, 4]
            assert scaled.tolist() == [2, 4, 6]
            assert (twice.dtype, scaled.dtype) == (np.float32, np.int32)
    assert set(kinds) == {px.Array}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64", "float8_e4m3fn"])
def test_values_of_every_kind_and_shape_go_through_a_callback(dtype: str) -> None:
    kind = pnp.dtype(dtype)
    for shape in ((), (2, 3)) if dtype != "int8" else ((), (2, 3), (0, 3)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
        out = px.jit(lambda x: px.pure_callback(lambda x: x, like(x), x))(x)
        assert out.dtype == kind
        assert np.array_equal(np.asarray(out), x)


def test_memory_order_does_not_matter() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    shape = px.ShapeDtypeStruct((3, 2), np.float32)
    assert np.array_equal(px.jit(lambda x: px.pure_callback(lambda x: np.asarray(x).T, shape, x))(x), x.T)
    assert np.array_equal(px.jit(lambda x: px.pure_callback(np.asarray, shape, pnp.transpose(x)))(x), x.T)
    assert np.array_equal(px.jit(lambda x: px.pure_callback(lambda x: np.asarray(x)[::-1], like(x), x))(x), x[::-1])


def test_64_bit_values_follow_enable_x64_where_the_program_is_made() -> None:
    def callback(x: Any) -> Any:
        return np.float64(np.asarray(x)) + (x.dtype.itemsize == 8) + (px.numpy.ones(()).dtype.itemsize == 8)

    with px.enable_x64(True):
        wide = px.ShapeDtypeStruct((), np.float64)
        for f in both(lambda x: px.pure_callback(callback, wide, x)):
            assert f(1e300) == 1e300
            assert f(1.0) == 3.0
            assert f(1.0).dtype == np.float64
    with px.enable_x64(False):
        for f in both(lambda x: px.pure_callback(callback, F32, x)):
            assert f(1.0) == 1.0
            assert f(1.0).dtype == np.float32
        with pytest.raises(ValueError, match="dtypes of up to 32 bits, unless enable_x64 is on, got float64"):
            px.pure_callback(callback, wide, 1.0)


def test_a_callback_may_compute_with_primax() -> None:
    inner = px.jit(lambda x: pnp.sin(x) * 2)
    x = np.linspace(0, 1, 5, dtype=np.float32)
    out = px.jit(lambda x: px.pure_callback(inner, like(x), x) + 1)(x)
    assert np.allclose(out, 2 * np.sin(x) + 1)


@pytest.mark.parametrize("method", METHODS)
def test_vmap_calls_as_in_jax(method: str, jax: Any) -> None:
    def run(library: Any, array: Any, struct: Any, log: list[Any]) -> Any:
        def callback(x: Any, y: Any) -> Any:
            log.append((np.shape(x), np.shape(y)))
            return np.asarray(x) * 2 + np.asarray(y)[..., None]

        def f(x: Any, y: Any) -> Any:
            return library.pure_callback(callback, struct((3,), np.float32), x, y, vmap_method=method)

        mapped = library.vmap(f, in_axes=(1, None))
        return np.asarray(library.jit(mapped)(array.ones((3, 2), np.float32), array.float32(5)))

    ours: list[Any] = []
    theirs: list[Any] = []
    assert np.array_equal(
        run(px, pnp, px.ShapeDtypeStruct, ours), run(jax, jax.numpy, lambda *args: jax.ShapeDtypeStruct(*args), theirs)
    )
    assert ours == theirs


def test_vmap_of_vmap_calls_for_each_element_in_order(log: list[Any]) -> None:
    def callback(x: Any, y: Any) -> Any:
        log.append((float(x), float(y)))
        return x

    def f(x: Any, y: Any) -> Any:
        return px.pure_callback(callback, F32, x, y, vmap_method="sequential")

    x, y = np.float32([1, 2]), np.float32([3, 4])
    out = px.vmap(px.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    assert out.tolist() == [[1, 1], [2, 2]]
    assert log == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert px.vmap(f, in_axes=(0, None))(np.zeros(0, np.float32), 1.0).shape == (0,)


def test_vmap_of_many_elements_is_one_call_of_the_program() -> None:
    f = px.vmap(lambda x: px.pure_callback(lambda x: x, F32, x, vmap_method="sequential"))
    assert len(px.make_jaxpr(f)(np.zeros(1000, np.float32)).eqns) == 1


def test_vmap_needs_a_method() -> None:
    f = px.vmap(lambda x: px.pure_callback(lambda x: x, F32, x))
    with pytest.raises(NotImplementedError, match=r"vmap_method must be given .*, one of sequential, "):
        f(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match=r"vmap_method must be one of sequential, .* or None, got 'twice'"):
        px.pure_callback(abs, F32, 1.0, vmap_method="twice")


def test_pure_callbacks_that_nothing_uses_are_not_called(log: list[Any]) -> None:
    def callback(x: Any) -> Any:
        log.append("pure")
        return x

    def f(x: Any) -> Any:
        px.pure_callback(callback, F32, x)
        px.jit(lambda x: px.pure_callback(callback, F32, x))(x)
        px.io_callback(lambda x: log.append("io"), None, x)
        return x

    px.jit(f)(1.0)
    px.effects_barrier()
    assert log == ["io"]


@pytest.mark.parametrize(
    "transform", [px.grad, lambda f: lambda x: px.jvp(f, (x,), (x,)), lambda f: px.jit(px.grad(f))]
)
def test_derivatives_of_callbacks_name_the_ways_to_give_them(transform: Any) -> None:
    for call in (px.pure_callback, px.io_callback):
        with pytest.raises(
            px.errors.MissingRuleError, match=f"{call.__name__} .* does not support jvp: .* custom deriv"
        ):
            transform(lambda x, call=call: call(abs, F32, x))(np.float32(1))
        assert px.grad(lambda x, call=call: x * call(abs, F32, np.float32(3)))(1.0) == 3.0


def test_functions_with_custom_derivatives_may_call_back() -> None:
    @px.custom_jvp
    def sine(x: Any) -> Any:
        return px.pure_callback(np.sin, like(x), x)

    @sine.defjvp
    def sine_jvp(primals: Any, tangents: Any) -> Any:
        (x,) = primals
        return sine(x), px.pure_callback(np.cos, like(x), x) * tangents[0]

    for f in both(px.grad(sine)):
        assert np.isclose(f(np.float32(1)), np.cos(1))


@pytest.mark.parametrize("ordered", [False, True])
def test_functions_with_custom_derivatives_may_have_io(ordered: bool, log: list[Any]) -> None:
    def note(tag: str, x: Any) -> Any:
        px.io_callback(lambda x: log.append(tag), None, x, ordered=ordered)
        return x

    @px.custom_jvp
    def square(x: Any) -> Any:
        return note("function", x) ** 2

    square.defjvp(lambda primals, tangents: (square(*primals), 2.0 * note("jvp", primals[0]) * tangents[0]))

    @px.custom_vjp
    def cube(x: Any) -> Any:
        return note("function", x) ** 3

    cube.defvjp(lambda x: (note("fwd", x) ** 3, x), lambda x, ct: (3.0 * note("bwd", x) ** 2 * ct,))

    def logged(f: Any) -> tuple[float, list[str]]:
        log.clear()
        out = px.jit(f)(2.0)
        px.effects_barrier()
        return float(out), sorted(log)

    def scanned(f: Any) -> Any:
        return lambda x: px.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]

    def chosen(f: Any) -> Any:
        return lambda x: px.lax.cond(x > 0, f, lambda x: x, x)

    assert logged(square) == (4.0, ["function"])
    assert logged(px.grad(chosen(square))) == (4.0, ["function", "jvp"])
    assert logged(px.grad(scanned(square))) == (32.0, ["function", "function", "jvp", "jvp"])
    assert logged(scanned(cube)) == (512.0, ["function", "function"])
    assert logged(px.grad(chosen(cube))) == (12.0, ["bwd", "fwd"])
    assert logged(lambda x: px.lax.while_loop(lambda x: x < 5, cube, x)) == (8.0, ["function"])


@pytest.mark.parametrize("where", ["custom_derivatives", "control_flow"])
def test_a_refusal_of_an_effect_names_a_public_remedy(where: str) -> None:
    class Noise(core.Effect):
        pass

    effects.register_effect(Noise, ordered=True)
    noise_p = core.Primitive("noise")
    noise_p.def_effectful_abstract_eval(lambda x: (x, {Noise()}))
    f: Any = partial(px.lax.map, noise_p.bind)
    if where == "custom_derivatives":
        f = px.custom_jvp(noise_p.bind)
        f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(NotImplementedError) as caught:
        px.make_jaxpr(f)(np.ones(3, np.float32))
    remedy = f"primax.extend.effects.{where}_allowed_effects.add_type(Noise)"
    assert remedy in str(caught.value)
    getattr(effects, f"{where}_allowed_effects").add_type(Noise)
    assert effects.ordered_effects.contains(Noise())
    px.make_jaxpr(f)(np.ones(3, np.float32))


def test_ordered_callbacks_happen_in_order_across_calls_and_nested_programs(log: list[Any]) -> None:
    def note(tag: str) -> Callable[[Any], None]:
        return lambda x: log.append((tag, float(x)))

    inner = px.jit(lambda x: (px.io_callback(note("inner"), None, x, ordered=True), x + 1)[1])

    @px.jit
    def f(x: Any) -> Any:
        px.io_callback(note("first"), None, x, ordered=True)
        y = inner(x)
        px.io_callback(note("last"), None, y, ordered=True)
        return y

    x = 0.0
    for _ in range(3):
        x = f(x)
        px.io_callback(note("outside"), None, x, ordered=True)
    px.effects_barrier()
    assert log == [
        entry for i in range(3) for entry in (("first", i), ("inner", i), ("last", i + 1.0), ("outside", i + 1.0))
    ]


def test_an_io_callback_returns_values_and_is_called_each_time() -> None:
    counter = iter(range(100))
    for ordered in (False, True):
        f = px.jit(lambda x, ordered=ordered: px.io_callback(lambda x: x + next(counter), F32, x, ordered=ordered))
        first = float(f(np.float32(0)))
        assert [float(f(np.float32(0))) for _ in range(3)] == [first + 1, first + 2, first + 3]


def test_a_mapped_debug_callback_is_given_each_value_at_its_place(log: list[Any]) -> None:
    f = px.vmap(lambda x, y: px.debug.callback(lambda x, y: log.append((float(x), float(y))), x, y))
    for g in both(f):
        g(np.float32([1, 2]), np.float32([3, 4]))
        px.effects_barrier()
    assert log == [(1.0, 3.0), (2.0, 4.0)] * 2


def test_vmap_of_an_io_callback_calls_for_each_element_unless_it_is_ordered(log: list[Any], jax: Any) -> None:
    f = px.vmap(lambda x, y: px.io_callback(lambda x, y: log.append(float(x * y)), None, x, y), in_axes=(0, None))
    for g in both(f):
        g(np.float32([1, 2, 3]), 2.0)
        px.effects_barrier()
    assert log == [2.0, 4.0, 6.0] * 2
    for library, call in ((px, px.io_callback), (jax, jax.experimental.io_callback)):
        with pytest.raises(ValueError, match="ordered"):
            library.vmap(lambda x, call=call: call(abs, None, x, ordered=True))(np.float32([1, 2]))


def debugged(library: Any, log: list[Any], ordered: bool) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        library.debug.callback(lambda x: log.append(("x", float(x))), x, ordered=ordered)
        y = x * x
        library.debug.callback(lambda y: log.append(("y", float(y))), y, ordered=ordered)
        return y * x

    return f


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda m, f: m.jit(f)(2.0),
    "jvp": lambda m, f: m.jvp(f, (2.0,), (1.0,)),
    "grad": lambda m, f: m.grad(f)(2.0),
    "grad of jit": lambda m, f: m.grad(m.jit(f))(2.0),
    "jit of grad": lambda m, f: m.jit(m.grad(f))(2.0),
    "linearize": lambda m, f: m.linearize(f, 2.0)[1](1.0),
    "vmap": lambda m, f: m.vmap(f)(np.float32([1, 2])),
    "vmap of jit of grad": lambda m, f: m.vmap(m.jit(m.grad(f)))(np.float32([1, 2])),
    "linear_transpose": lambda m, f: m.linear_transpose(lambda x: (f(1.0), 2.0 * x)[1], 1.0)(1.0),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_debug_callbacks_show_under_transformations_what_they_show_in_jax(name: str, jax: Any) -> None:
    for ordered in (True, False) if name in ("jit of grad", "vmap") else (True,):
        ours: list[Any] = []
        theirs: list[Any] = []
        TRANSFORMS[name](px, debugged(px, ours, ordered))
        px.effects_barrier()
        TRANSFORMS[name](jax, debugged(jax, theirs, ordered))
        jax.effects_barrier()
        assert ours
        assert sorted(ours) == sorted(theirs)
        if ordered:
            assert ours == theirs


def test_callbacks_on_tangents_are_dropped_when_these_are_transposed(log: list[Any]) -> None:
    def f(x: Any) -> Any:
        px.debug.callback(lambda x: log.append(float(x)), x)
        return 2 * x

    assert px.linear_transpose(f, 1.0)(1.0)[0] == 2.0
    assert px.linear_transpose(px.jit(f), 1.0)(1.0)[0] == 2.0
    px.effects_barrier()
    assert log == []


PRINTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "positions and names": (("{} and {x}", 1.5), {"x": np.arange(3)}),
    "format specifications": (("{:.2f}|{:>6}|{x:05d}", np.float32(2), np.float32(1.5)), {"x": np.int32(7)}),
    "parts of values": (("{0.shape} {x[a]}", np.ones((2, 3))), {"x": {"a": np.int32(1)}}),
    "what is no array": (("{} {x}", "text"), {"x": None}),
    "nothing": (("no values",), {}),
}


@pytest.mark.parametrize("name", PRINTS)
def test_debug_print_prints_as_in_jax(name: str, capfd: pytest.CaptureFixture[str], jax: Any) -> None:
    args, kwargs = PRINTS[name]
    printed = []
    for library in (px, jax):
        library.debug.print(*args, **kwargs)
        library.jit(lambda library=library: library.debug.print(*args, **kwargs))()
        library.effects_barrier()
        printed.append(capfd.readouterr().out)
    ours, theirs = printed
    assert ours == theirs
    assert ours.count("\n") == 2


def test_debug_print_prints_traced_values_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    @px.jit
    def f(x: Any) -> None:
        with np.printoptions(precision=2):
            px.debug.print("x = {x}", x=x, ordered=True)
        px.debug.print(ordered=True)("sum = {:.1f}", pnp.sum(x))

    f(np.float32([1 / 3, 2]))
    f(np.float32([1, 2]))
    px.effects_barrier()
    assert capfd.readouterr().out == "x = [0.33 2.  ]\nsum = 2.3\nx = [1. 2.]\nsum = 3.0\n"


@pytest.mark.parametrize(
    ("args", "kwargs"), [(("{x} {}", 1), {}), (("{} {}", 1), {}), (("{}", 1, 2), {}), (("x",), {"x": 1}), ((3,), {})]
)
def test_debug_print_refuses_the_formats_that_jax_refuses(args: Any, kwargs: Any, jax: Any) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)) as theirs:
        jax.debug.print(*args, **kwargs)
    with pytest.raises(type(theirs.value), match=r"debug.print: fmt must"):
        px.debug.print(*args, **kwargs)


def test_unchecked_formats_need_no_place_for_their_values(capfd: pytest.CaptureFixture[str]) -> None:
    px.debug.print("values:", 1, 2.5, skip_format_check=True)
    assert capfd.readouterr().out == "values: 1 2.5\n"


def test_debug_functions_may_be_given_their_options_first(log: list[Any]) -> None:
    px.debug.callback(ordered=True)(log.append, 1)
    assert len(log) == 1
    for function in (px.debug.callback, px.debug.print):
        with pytest.raises(TypeError, match=r"values must come with a format or a callback, got only \('x',\)"):
            function(x=1)


def test_jaxprs_show_the_callback_and_have_its_effects() -> None:
    def f(x: Any) -> Any:
        px.debug.print("x = {}", x)
        px.io_callback(print, None, x, ordered=True)
        return px.pure_callback(abs, F32, x)

    closed = px.make_jaxpr(f)(1.0)
    core.check_jaxpr(closed)
    text = str(closed)
    assert "debug_callback[callback=print('x = {}') effect=Debug] a" in text
    assert "callback=<built-in function abs>" in text
    assert sorted(map(str, closed.effects)) == ["Debug", "OrderedIO"]
    assert px.make_jaxpr(px.jit(f))(1.0).effects == closed.effects


def fails(x: Any) -> Any:
    raise LookupError(f"no value for {float(x)}")


def test_a_failing_callback_is_an_error_with_its_traceback_and_the_users_line() -> None:
    f = px.jit(lambda x: px.pure_callback(fails, F32, x) + 1)
    for _ in range(2):
        with pytest.raises(px.XlaError, match=r"LookupError: no value for 3\.0") as error:
            f(3.0).block_until_ready()
        text = str(error.value)
        assert f"The callback was made at {__file__}" in text
        assert f'File "{__file__}", line {fails.__code__.co_firstlineno + 1}, in fails' in text
        assert "raise LookupError" in text


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs that Python has started, rather than jaxlib."""
    started: list[Any] = []
    run = Executable.__call__

    def noted(executable: Executable, args: Any) -> Any:
        started.append(executable)
        return run(executable, args)

    monkeypatch.setattr(Executable, "__call__", noted)
    return started


def next_even(x: Any) -> Any:
    if x % 2:
        return fails(x)
    return np.float32(x + 2)


def even(x: Any) -> Any:
    return px.pure_callback(next_even, F32, x, vmap_method="sequential")


def test_programs_that_call_python_are_started_by_jaxlib_and_fail_as_before(runs: list[Any]) -> None:
    f = px.jit(lambda x, y: even(x) + y["y"])
    args, odd = (pnp.float32(2), {"y": pnp.float32(1)}), (pnp.float32(3), {"y": pnp.float32(1)})
    with pytest.raises(px.XlaError) as error:
        f(*odd)
    for _ in range(4):
        assert f(*args) == 5
    before = len(runs)
    for _ in range(2):
        with pytest.raises(px.XlaError) as later:
            f(*odd).block_until_ready()
        for line in (0, -1):
            assert str(later.value).splitlines()[line] == str(error.value).splitlines()[line]
        assert f(*args) == 5
    assert len(runs) == before
    assert px.vmap(f)(np.float32([2, 4]), {"y": np.zeros(2, np.float32)}).tolist() == [4, 6]


def refuses(x: Any) -> Any:
    raise ValueError("of the same shape")


def test_errors_of_tracing_stay_as_they_are_in_functions_that_call_python() -> None:
    f = px.jit(lambda x: even(x) if x.ndim == 0 else refuses(x))
    for _ in range(3):
        assert f(np.float32(2)) == 4
        with pytest.raises(ValueError, match="of the same shape") as error:
            f(np.zeros(2, np.float32))
        assert type(error.value) is ValueError
        assert f(np.float32(4)) == 6


def test_functions_that_call_python_are_forgotten_with_their_programs(runs: list[Any]) -> None:
    add = [1.0]
    inner = px.jit(lambda x: even(x) + add[0])
    outer = px.jit(inner)
    for f in (inner, outer):
        assert [float(f(2.0)) for _ in range(3)] == [add[0] + 4] * 3
        add[0] += 1
        inner.clear_cache()
        outer.clear_cache()
        assert [float(f(2.0)) for _ in range(3)] == [add[0] + 4] * 3
        px.clear_caches()
        add[0] += 1
        assert [float(f(2.0)) for _ in range(3)] == [add[0] + 4] * 3
    assert [float(inner(2.0)) for _ in range(3)] == [add[0] + 4] * 3
    before = len(runs)
    for f in (inner, outer):
        assert float(f(2.0)) == add[0] + 4
    assert len(runs) == before


def test_static_arguments_of_functions_that_call_python_are_told_apart() -> None:
    f = px.jit(lambda x, n: even(x) + (10 if n is True else n), static_argnums=1)
    for _ in range(3):
        assert [float(f(2.0, n)) for n in (1, True, 1.5, (3,)[0])] == [5, 14, 5.5, 7]


def test_callbacks_fail_alike_in_functions_with_static_arguments(runs: list[Any]) -> None:
    f = px.jit(lambda x, n: even(x) + n, static_argnums=1)
    for n in (1, 1.5):
        assert [float(f(2.0, n)) for _ in range(2)] == [4 + n] * 2
        before = len(runs)
        for _ in range(2):
            with pytest.raises(px.XlaError, match=r"no value for 3\.0"):
                f(3.0, n)
            assert float(f(4.0, n)) == 6 + n
        assert len(runs) == before
    with pytest.raises(ValueError, match="hashable"):
        f(2.0, [])


def test_a_callback_that_fails_outside_of_programs_is_the_same_error() -> None:
    for call in (px.pure_callback, px.io_callback):
        with pytest.raises(px.XlaError, match=r"LookupError: no value for 3\.0") as error:
            call(fails, F32, 3.0)
        assert type(error.value.__cause__) is LookupError
    with pytest.raises(LookupError, match="no value"):  # as in jax: there is no program
        px.debug.callback(fails, 3.0)


def test_a_failing_effect_is_raised_by_the_barrier_at_the_latest_and_is_over_then(log: list[Any]) -> None:
    for ordered in (False, True):
        f = px.jit(lambda x, ordered=ordered: px.debug.callback(fails, x, ordered=ordered))
        with pytest.raises(px.XlaError, match="LookupError"):
            f(3.0), px.effects_barrier()
        px.effects_barrier()
        px.jit(lambda x, ordered=ordered: px.debug.callback(log.append, x, ordered=ordered))(3.0)
        px.effects_barrier()
    assert len(log) == 2


WRONG: list[tuple[Any, Any, str]] = [
    (lambda x: np.zeros(3, np.float32), F32, r"output of <lambda> must be f32\[\], got f32\[3\]"),
    (lambda x: np.int32(0), F32, r"output of <lambda> must be f32\[\], got i32\[\]"),
    (
        lambda x: {"a": 1.5, "b": [1.5]},
        {"a": F32, "b": [like(np.int32(0))]},
        r"output\['b'\]\[0\] of <lambda> must be i32",
    ),
    (lambda x: (x, x), F32, "the number of arrays that the callback returns must be 1, got 2"),
    (lambda x: None, F32, "the number of arrays that the callback returns must be 1, got 0"),
    (lambda x: "text", F32, "TypeError"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_a_callback_that_returns_something_else_is_an_error_naming_the_output_and_both_types(case: int) -> None:
    callback, shapes, message = WRONG[case]
    x = np.float32(1)
    for f in both(lambda x: px.pure_callback(callback, shapes, x)):
        with px.enable_x64(False), pytest.raises(px.XlaError, match=message):
            px.block_until_ready(f(x))


def test_the_elements_of_a_batch_are_checked_one_by_one() -> None:
    f = px.vmap(lambda x: px.pure_callback(lambda x: np.zeros(2, np.float32), F32, x, vmap_method="sequential"))
    with pytest.raises(px.XlaError, match=r"must be f32\[\], got f32\[2\]"):
        f(np.zeros(2, np.float32))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.pure_callback(3, F32, 1.0), "callback must be callable, got 3"),
        (lambda: px.io_callback(None, F32, 1.0), "callback must be callable, got None"),
        (lambda: px.debug.callback(3), "callback must be callable, got 3"),
        (
            lambda: px.pure_callback(abs, [1.0], 1.0),
            r"result_shape_dtypes\[0\] must have a shape and a dtype, got 1\.0",
        ),
        (lambda: px.pure_callback(abs, np.float32, 1.0), "result_shape_dtypes must have a shape"),
        (lambda: px.pure_callback(abs, F32, "text"), r"argument\[0\] must be an array"),
        (lambda: px.pure_callback(abs, F32, 1.0, sharding="cpu"), "pure_callback: sharding must be"),
    ],
)
def test_what_is_no_callback_type_or_argument_is_refused(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_a_callback_lives_as_long_as_its_programs() -> None:
    class Callback:
        def __call__(self, x: Any) -> Any:
            return x

    callback = Callback()
    reference = weakref.ref(callback)
    f = px.jit(lambda x, callback=callback: px.pure_callback(callback, F32, x) + 1)
    f(np.float32(1))
    del callback
    gc.collect()
    assert f(np.float32(2)) == 3.0
    del f
    gc.collect()
    gc.collect()
    assert reference() is None


def test_threads_call_back_at_the_same_time() -> None:
    f = px.jit(lambda x: px.pure_callback(lambda x: np.asarray(x) * 2, F32, x))
    f(np.float32(0))
    found: dict[int, list[float]] = {}

    def work(i: int) -> None:
        found[i] = [float(f(np.float32(i + k))) for k in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [2.0 * (i + k) for k in range(20)] for i in range(4)}


def test_programs_with_callbacks_stay_out_of_the_cache_on_disk(tmp_path: Any) -> None:
    with core.config.compilation_cache_dir(tmp_path):
        result = px.jit(lambda x: px.pure_callback(lambda x: x, F32, x))(np.float32(5))
        assert list(tmp_path.iterdir()) == []
    assert result == 5.0


def test_programs_with_callbacks_cannot_be_exported() -> None:
    for f, message in (
        (lambda x: px.pure_callback(abs, F32, x), "calls Python functions cannot be exported"),
        (lambda x: px.io_callback(abs, F32, x, ordered=True), "must have no effects, got .'OrderedIO'."),
        (lambda x: px.debug.print("{}", x) or x, "must have no effects, got .'Debug'."),
    ):
        with pytest.raises(ValueError, match=message):
            px.export.export(px.jit(f))(1.0)


def test_a_lowering_may_call_python() -> None:
    cube_p = core.Primitive("cube_on_the_host")
    cube_p.def_abstract_eval(lambda x: x)

    def lowering(ctx: Any, x: Any) -> Any:
        results, token, _ = mlir.emit_python_callback(
            ctx, lambda x: (x**3,), None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )
        assert token is None
        return results

    mlir.register_lowering(cube_p, lowering)
    for f in both(cube_p.bind):
        assert f(np.float32(2)) == 8
    mlir.register_lowering(
        cube_p,
        lambda ctx, x: mlir.emit_python_callback(
            ctx, lambda x: (), None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )[0],
    )
    with pytest.raises(px.XlaError, match="must be 1, got 0"):
        px.jit(cube_p.bind)(np.float32(2)).block_until_ready()


def test_callbacks_happen_in_control_flow_as_in_jax(jax: Any) -> None:
    def run(library: Any, io_callback: Any, struct: Any) -> list[Any]:
        log: list[Any] = []
        shape = struct((), np.float32)

        def step(c: Any, x: Any) -> Any:
            library.debug.callback(lambda c: log.append(float(c)), c)
            io_callback(lambda x: log.append(float(x) + 10), None, x, ordered=True)
            return library.pure_callback(lambda c: np.float32(c) + 1, shape, c), x

        @library.jit
        def f(c: Any) -> Any:
            c, _ = library.lax.scan(step, c, np.arange(3, dtype=np.float32))
            c = library.lax.while_loop(lambda c: c < 5, lambda c: step(c, c)[0], c)
            return library.lax.cond(c > 0, lambda c: step(c, c)[0], lambda c: c, c)

        assert f(np.float32(0)) == 6
        library.effects_barrier()
        return log

    ours = run(px, px.io_callback, px.ShapeDtypeStruct)
    theirs = run(jax, jax.experimental.io_callback, jax.ShapeDtypeStruct)
    assert sorted(ours) == sorted(theirs)
    assert [x for x in ours if x >= 10] == [x for x in theirs if x >= 10]


def test_a_callback_of_a_program_on_many_devices_may_build_programs():
    mesh = px.make_mesh((8,), ("x",))
    x = px.device_put(np.ones((8, 3), np.float32), px.NamedSharding(mesh, px.P("x")))

    def total(x):
        return np.float32(px.jit(lambda x: pnp.sum(x) * 3)(np.asarray(x)))

    for _ in range(2):
        lowered = px.jit(lambda x: px.pure_callback(total, px.ShapeDtypeStruct((), np.float32), x)).lower(x)
        assert float(lowered.compile()(x)) == 72.0


def test_partitioned_callbacks_see_the_part_of_their_device() -> None:
    x = px.device_put(np.arange(8, dtype=np.float32), px.NamedSharding(px.make_mesh((8,), ("x",)), px.P("x")))
    seen: list[Any] = []

    def f(x: Any, partitioned: bool) -> Any:
        px.debug.callback(lambda y: seen.append(y.tolist()), 2 * x, partitioned=partitioned)
        return x

    for partitioned, parts in ((True, [[2.0 * i] for i in range(8)]), (False, [[2.0 * i for i in range(8)]])):
        px.block_until_ready(px.jit(f, static_argnums=1)(x, partitioned))
        px.effects_barrier()
        assert sorted(seen) == parts
        seen.clear()
    f(1.0, True)
    assert seen == [2.0]


def test_a_lowering_rule_of_jax_calls_python_and_keeps_objects() -> None:
    kept, seen = object(), []
    told_p = core.Primitive("told_on_the_host")
    told_p.def_abstract_eval(lambda x: x)

    def lowering(ctx: Any, x: Any) -> Any:
        ctx.module_context.add_keepalive(kept)
        assert ctx.module_context.keepalives[-1] is kept
        options = {"has_side_effect": True, "returns_token": False, "partitioned": True, "sharding": None}
        results, token, _ = mlir.emit_python_callback(
            ctx, lambda x: seen.append(float(x)) or (), None, [x], ctx.avals_in, [], **options
        )
        assert (results, token) == ([], None)
        with pytest.raises(ValueError, match="result_avals must be empty"):
            mlir.emit_python_callback(ctx, lambda x: (x,), None, [x], ctx.avals_in, ctx.avals_out, **options)
        return [x]

    mlir.register_lowering(told_p, lowering)
    assert px.jit(told_p.bind)(np.float32(3)) == 3
    px.effects_barrier()
    assert seen == [3.0]


class Recorded:
    """A bar that records what it shows."""

    log: ClassVar[list[Any]] = []

    def __init__(self, label: str, total: int | None) -> None:
        self.count = 0
        Recorded.log.append((label, total))

    def update(self, steps: int) -> None:
        self.count += steps
        Recorded.log.append(self.count)

    def close(self) -> None:
        Recorded.log.append("closed")


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """A function that runs a program and returns what its bars have shown."""
    monkeypatch.setattr(progress, "_new_bar", Recorded)

    def run(f: Callable[..., Any], *args: Any) -> list[Any]:
        Recorded.log = []
        px.block_until_ready(f(*args))
        px.effects_barrier()
        return Recorded.log

    return run


def _summed(xs: Any) -> Any:
    return px.debug.progress(px.lax.scan, label="sum", every=2)(lambda c, x: (c + x * x, c), 0.0, xs)[0]


XS = np.arange(5, dtype=np.float32)
SHOWN = [("sum", 5), 2, 4, 5, "closed"]
LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "fori_loop": lambda n, loop: loop(px.lax.fori_loop)(2, n + 2, lambda i, x: x + i, 0),
    "while_loop": lambda n, loop: loop(px.lax.while_loop)(lambda i: i < n, lambda i: i + 1, 0),
    "map": lambda n, loop: loop(px.lax.map)(pnp.sin, XS),
    "map in batches": lambda n, loop: loop(px.lax.map)(pnp.sin, XS, batch_size=5),
    "backwards": lambda n, loop: loop(px.lax.scan)(lambda c, x: (c, x), 0, XS, reverse=True),
    "by number": lambda n, loop: px.lax.fori_loop(0, n, lambda i, x: loop(i, 5) or x, 0),
}


@pytest.mark.parametrize(
    "f", [_summed, px.vmap(_summed), px.grad(_summed), px.vmap(px.grad(_summed)), px.checkpoint(_summed)]
)
def test_a_bar_shows_some_steps_once_under_transformations(f: Any, bars: Any) -> None:
    xs = np.stack([XS] * 3) if f.__code__.co_name == "mapped" else XS
    assert bars(px.jit(f), xs) == SHOWN


@pytest.mark.parametrize("name", LOOPS)
def test_loops_of_all_kinds_have_bars(name: str, bars: Any) -> None:
    def run(n: Any) -> Any:
        return LOOPS[name](n, partial(px.debug.progress, every=2))

    shown = bars(px.jit(run), 5)
    (_, total), *rest = shown
    assert total == (None if name == "while_loop" else 5)
    assert rest == ([5, "closed"] if name == "map in batches" else [2, 4, 5, "closed"])


def test_a_mapped_loop_of_several_lengths_has_one_bar_and_runs_at_once(bars: Any) -> None:
    run = px.vmap(lambda n: LOOPS["fori_loop"](n, px.debug.progress))
    assert bars(px.jit(run), np.array([2, 5, 3])) == [("", 5), 1, 2, 3, 4, 5, "closed"]
    assert "scan" not in str(px.make_jaxpr(run)(np.array([2, 5, 3])))


def test_a_bar_without_tqdm_is_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    px.jit(_summed)(XS)
    px.effects_barrier()
    assert re.fullmatch(r"sum: 100 % 5/5, \d+\.\d s, [\d,]+ steps/s\n", capsys.readouterr().err)


def test_a_bar_that_restarts_closes_the_one_before(bars: Any) -> None:
    bar = progress.Bar("again")
    assert bars(lambda: [bar(*at) for at in ((3, 9), (3, 9), (2, 9), (9, 9), (0, 0))]) == [
        *[("again", 9), 3, 3, "closed"],
        *[("again", 9), 2, 9, "closed"],
    ]
    assert pickle.loads(pickle.dumps(bar)).label == "again"


def test_what_has_no_progress_is_refused() -> None:
    for loop in (abs, 1.5, "scan", np.arange(3)):
        with pytest.raises(TypeError, match=r"debug\.progress: loop must be scan, fori_loop, map or while_loop"):
            px.debug.progress(loop)
    with pytest.raises(ValueError, match=r"debug\.progress: every must be 1 or more, got 0"):
        px.debug.progress(px.lax.scan, every=0)
    with pytest.raises(TypeError, match=r"debug\.progress: label must be a string, got 3"):
        px.debug.progress(px.lax.scan, label=3)

    def single(c: Any, x: Any) -> Any:
        return c

    with pytest.raises(TypeError, match=r"scan: the body must return a pair .*single at"):
        px.debug.progress(px.lax.scan)(single, 0.0, XS)
