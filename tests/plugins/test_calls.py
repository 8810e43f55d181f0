"""`jit` compiles once per signature, changes no value, keeps nothing alive, and says what is wrong."""

from __future__ import annotations

import copy
import gc
import inspect
import logging
import math
import pickle
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.errors import DeletedArrayError, UnexpectedTracerError
from primax.extend import core
from primax.extend.effects import register_effect
from primax.extend.interpreters import mlir
from primax.extend.provisional import runtime
from primax.interpreters.runtime import dispatch
from primax.plugins.calls.jitted import SeemingPjitFunction

ONES = np.ones(3, np.float32)


class Counted:
    """A function that counts how often Python runs it, which is how often it is traced."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.calls = 0
        self.__name__ = getattr(fun, "__name__", "counted")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.fun(*args, **kwargs)


@px.jit
def _named(x: Any, times: int = 1) -> Any:
    return (x + 1) * times


def test_a_jitted_function_says_that_it_is_and_is_copied_and_pickled() -> None:
    assert re.fullmatch(r"<jitted <function _named at 0x\w+>>", repr(_named))
    assert repr(px.jit(_named)).startswith("<jitted <jitted <function _named")
    assert pickle.loads(pickle.dumps(_named)) is _named
    assert copy.deepcopy(_named) is copy.copy(_named) is _named
    by_value = px.jit(_named.__wrapped__, static_argnums=1)
    assert copy.copy(by_value) is by_value
    fields = by_value.__reduce__()[1]
    assert fields[0] is _named.__wrapped__
    assert fields[1]["static_argnums"] == 1
    power = pickle.loads(pickle.dumps(px.jit(pnp.power, static_argnums=1)))
    assert repr(power).startswith("<jitted <function power")
    assert float(power(3.0, 2)) == 9.0

    class Owner:
        method = px.jit(lambda self, x: x, static_argnums=0)

    assert Owner().method(2.0) == 2.0
    assert Owner.method is vars(Owner)["method"]


def test_a_seeming_function_of_jaxlib_has_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeemingPjitFunction, "enabled", True)
    seeming = px.jit(_named.__wrapped__)
    assert isinstance(seeming, runtime.PjitFunction)
    assert seeming.lower(1.0).compile()(3.0) == 4.0
    assert seeming.__name__ == "_named"
    assert list(inspect.signature(seeming).parameters) == ["x", "times"]
    assert repr(seeming).startswith("<PjitFunction of <function _named")


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one name whenever a function jitted in this test enters Python."""
    seen: list[str] = []
    original = dispatch._jaxlib.pjit

    def pjit(name: str, fun: Any, miss: Any, *rest: Any) -> Any:
        def spied(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return miss(*args, **kwargs)

        return original(name, fun, spied, *rest)

    monkeypatch.setattr(dispatch._jaxlib, "pjit", pjit)
    return seen


def put(*shape: int, dtype: Any = np.float32) -> Any:
    return px.device_put(np.arange(math.prod(shape)).reshape(shape).astype(dtype))


def test_a_signature_is_traced_once_and_then_python_is_not_entered(entries: list[str]) -> None:
    f = Counted(lambda x, y: x * 2.0 + y["b"])
    g = px.jit(f)
    for _ in range(3):
        out = g(put(3), {"b": 1.0})
    assert out.tolist() == [1.0, 3.0, 5.0]
    assert (f.calls, entries) == (1, ["<lambda>"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.float32(1), np.ones(1, np.float32)),
        (np.float32(1), np.int32(1)),
        (np.float32(1), 1.0),
        (1.0, 1),
        (1, True),
        ((1.0,), [1.0]),
        ({"a": 1.0}, {"b": 1.0}),
        ((1.0, None), (1.0, 2.0)),
        (ONES, ONES[:2]),
    ],
)
def test_what_makes_a_new_signature(first: Any, second: Any) -> None:
    f = Counted(lambda x: x)
    g = px.jit(f)
    for _ in range(2):
        g(first)
        g(second)
    assert f.calls == 2


def test_what_does_not_make_a_new_signature() -> None:
    f = Counted(lambda x: x)
    g = px.jit(f)
    for x in (1.0, 2.0, float("nan")):
        g(x)
    assert f.calls == 1
    for x in (ONES, ONES + 1, px.device_put(ONES), put(3), px.device_put(ONES, px.devices()[0])):
        g(x)
    assert f.calls == 2
    px.jit(f)(1.0)  # another jit of the same function
    assert f.calls == 2


def test_options_that_change_programs_are_part_of_the_signature() -> None:
    f = Counted(lambda x: x * 2.0)
    g = px.jit(f)
    value = np.full(2, 1 / 3)
    for _ in range(2):
        with px.enable_x64(False):
            assert g(value).dtype == np.float32
        with px.enable_x64(True):
            assert g(value).dtype == np.float64
    assert f.calls == 2
    with px.default_matmul_precision("float32"):
        g(value)
    assert f.calls == 3


def test_a_rule_that_changes_is_used_from_then_on() -> None:
    p = core.Primitive("changing")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 1.0, False))
    f = px.jit(lambda x: p.bind(x))
    assert (float(f(1.0)), float(p.bind(1.0))) == (2.0, 2.0)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 10.0, False))
    assert (float(f(1.0)), float(p.bind(1.0))) == (11.0, 11.0)


class Named(NamedTuple):
    a: Any
    b: Any


def test_static_arguments_by_position_and_name() -> None:
    def power(x: Any, n: int, scale: float = 1.0) -> Any:
        assert isinstance(n, int)
        assert isinstance(scale, float)
        for _ in range(n):
            x = x * 2.0
        return x * scale

    options: dict[str, Any]
    for options in (
        {"static_argnums": (1, 2)},
        {"static_argnums": (-2, -1)},
        {"static_argnames": ("n", "scale")},
        {"static_argnums": 1, "static_argnames": ("n", "scale")},
    ):
        f = Counted(power)
        f.__wrapped__ = power  # type: ignore[attr-defined]
        g = px.jit(f, **options)
        for _ in range(2):
            assert float(g(1.0, 3)) == 8.0
            assert float(g(1.0, 2)) == 4.0
        assert f.calls == 2
        assert float(g(1.0, n=3)) == 8.0
        assert float(g(1.0, 3, scale=2.0)) == 16.0
        assert float(g(x=1.0, n=1, scale=0.5)) == 1.0
        assert f.calls == 5


def test_static_arguments_are_compared_by_value_and_type() -> None:
    f = Counted(lambda x, n: x * n)
    g = px.jit(f, static_argnums=1)
    g(1.0, 2), g(1.0, 2), g(1.0, 2.0), g(1.0, True), g(1.0, 1)
    assert f.calls == 4

    @dataclass(frozen=True)
    class Options:
        name: str

    g(1.0, 7), px.jit(lambda x, o: x, static_argnums=1)(1.0, Options("a"))


def test_static_arguments_that_cannot_be() -> None:
    f = px.jit(lambda x, n: x, static_argnums=1)
    for _ in range(2):
        with pytest.raises(ValueError, match="hashable"):
            f(1.0, [1])
    assert float(f(1.0, 2)) == 1.0
    with pytest.raises(ValueError, match="which has 2; got 2"):
        px.jit(lambda x, y: x, static_argnums=2)
    with pytest.raises(ValueError, match="got 'z'; it has"):
        px.jit(lambda x, y: x, static_argnames="z")
    with pytest.raises(TypeError, match="static_argnums must be int"):
        px.jit(lambda x: x, static_argnums="x")
    with pytest.raises(TypeError, match="static_argnames must be str"):
        px.jit(lambda x: x, static_argnames=0)
    with pytest.raises(ValueError, match="negative"):
        px.jit(lambda *xs: xs, static_argnums=-1)


@pytest.mark.parametrize("option", ["static_argnames", "donate_argnames"])
@pytest.mark.parametrize("name", ["first", "others"])
def test_arguments_that_are_not_given_by_keyword_have_no_names(option: str, name: str) -> None:
    def f(first: Any, /, second: Any, *others: Any, **rest: Any) -> Any:
        return second

    with pytest.raises(ValueError, match=f"{option} must be names of arguments that f takes by keyword, got '{name}'"):
        px.jit(f, **{option: name})
    px.jit(f, **{option: ("second", "any")})


@pytest.mark.parametrize("wait", ["block_until_ready", "copy_to_host_async"])
def test_values_that_know_how_to_wait_are_asked_to(wait: str) -> None:
    class Foreign:
        def wait(self) -> None:
            raise AttributeError("asked")

    setattr(Foreign, wait, Foreign.wait)
    with pytest.raises(AttributeError, match="asked"):
        getattr(px, wait)([1.0, pnp.ones(2), Foreign()])
    given = [1.0, "text", pnp.ones(2), px.random.key(0)]
    assert getattr(px, wait)(given) is given


def test_positions_may_be_integers_of_numpy() -> None:
    f = px.jit(lambda x, n: x * n, static_argnums=np.int64(1))
    assert float(f(2.0, 3)) == 6.0
    with pytest.raises(ValueError, match="hashable"):
        f(2.0, [3])


def test_variadic_functions_have_static_arguments() -> None:
    f = px.jit(lambda *xs, **kw: (xs[0] * xs[1], sorted(kw)), static_argnums=1)
    g = px.jit(lambda *xs, **kw: xs[0] * kw["n"], static_argnames="n")
    assert float(f(2.0, 3)[0]) == 6.0
    assert float(g(2.0, n=4)) == 8.0


def test_keyword_arguments_in_any_order_are_one_signature() -> None:
    f = Counted(lambda x, *, a, b=1.0: x + 10 * a + 100 * b)
    g = px.jit(f)
    assert float(g(1.0, a=2.0, b=3.0)) == 321.0
    assert float(g(1.0, b=3.0, a=2.0)) == 321.0
    assert f.calls == 1
    assert float(g(1.0, a=2.0)) == 121.0


def test_arguments_that_are_not_arrays_are_refused_with_their_path() -> None:
    f = px.jit(lambda x: 0.0)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"\['a'\]\[1\].*static_argnums"):
            f({"a": [1.0, "text"]})
        with pytest.raises(TypeError, match="dtype"):
            f(np.array(["text"]))
    with pytest.raises(TypeError, match="fun must be callable"):
        px.jit(3)


@pytest.mark.parametrize("dtype", ["O", "U4", "M8[s]"])
def test_types_that_no_array_has_are_refused_before_anything_is_computed(dtype) -> None:
    x = np.zeros(2, dtype)
    for look in (px.jit(lambda x: x).lower, px.jit(lambda x: x), lambda x: px.eval_shape(lambda x: x, x)):
        with pytest.raises(TypeError, match="not a valid primax type"):
            look(x)


def test_containers_may_have_attributes_of_any_names() -> None:
    @px.tree_util.register_pytree_node_class
    class Quantity:
        """Hands on what it does not know to the array inside."""

        def __init__(self, value: Any) -> None:
            self.value = value
            self._a = self._host = value

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["value"], name)

        def tree_flatten(self) -> Any:
            return (self.value,), None

        @classmethod
        def tree_unflatten(cls, _: None, children: Any) -> Any:
            return cls(*children)

    quantity = Quantity(pnp.ones(2))
    for jitted in (px.jit(lambda *xs: xs[0]._a + xs[-1].value), px.jit(lambda x, y: x._a + y.value)):
        for _ in range(3):
            assert jitted(quantity, quantity).tolist() == [2.0, 2.0]


def test_signature_errors_are_pythons_own() -> None:
    f = px.jit(lambda x, y: x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        f(1.0)
    assert float(f(1.0, 2.0)) == 1.0


def test_methods_with_self_static_or_a_pytree() -> None:
    class Static:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @partial(px.jit, static_argnums=0)
        def times(self, x: Any) -> Any:
            return x * self.scale

    two, three = Static(2.0), Static(3.0)
    assert [float(o.times(1.0)) for o in (two, three, two)] == [2.0, 3.0, 2.0]

    @px.tree_util.register_pytree_node_class
    class Tree:
        def __init__(self, scale: Any) -> None:
            self.scale = scale

        def tree_flatten(self) -> Any:
            return (self.scale,), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

        @px.jit
        def times(self, x: Any) -> Any:
            return Tree(x * self.scale)

    assert float(Tree(2.0).times(3.0).scale) == 6.0
    assert float(Tree(2.0).times(3.0).times(2.0).scale) == 12.0


def test_results_of_every_shape() -> None:
    x = put(2)
    assert px.jit(lambda: None)() is None
    assert px.jit(lambda x: ())(x) == ()
    assert px.jit(lambda x: {"a": None, "b": [x, (1.0, x)]})(x)["b"][1][0].weak_type
    assert px.jit(lambda: 3)().tolist() == 3
    assert px.jit(lambda: np.arange(3))().tolist() == [0, 1, 2]
    assert px.jit(lambda x: x)(x).tolist() == [0.0, 1.0]
    assert px.jit(lambda x: (x, x, x + 1.0))(x)[2].tolist() == [1.0, 2.0]
    assert px.jit(lambda x, unused: x + 1.0)(1.0, ONES).tolist() == 2.0
    assert px.jit(lambda x: pnp.zeros((0, 3)))(x).shape == (0, 3)
    out = px.jit(lambda x: [x, {"k": (x * 2.0, None)}, None])(np.zeros((2, 0), np.float32))
    assert px.tree.structure(out) == px.tree.structure([0, {"k": (0, None)}, None])


def test_an_output_that_is_an_input_is_another_array() -> None:
    x = put(3)
    f = px.jit(lambda x: x)
    for _ in range(2):
        y = f(x)
        assert y is not x
        x.block_until_ready()
    x.delete()
    assert y.tolist() == [0.0, 1.0, 2.0]


def test_results_that_are_not_arrays_are_refused_with_their_path() -> None:
    for bad, path in (
        ("text", "the result must"),
        ({"a": [1.0, "t"]}, r"the result\['a'\]\[1\]"),
        ([math], r"\[0\]"),
    ):
        with pytest.raises(TypeError, match=path):
            px.jit(lambda bad=bad: bad)()


def test_closures_are_hoisted_not_embedded() -> None:
    big, numpy_big = put(1000), np.arange(1000, dtype=np.float32)
    f = px.jit(lambda x: x + big + numpy_big)
    assert f(1.0)[2].tolist() == 5.0
    jaxpr = f.trace(1.0).jaxpr
    assert len(jaxpr.consts) == 2
    text = f.lower(1.0).as_text()
    assert "tensor<1000xf32>, %arg1: tensor<1000xf32>" in text
    assert len(text) < 2000
    small = np.float32(2)
    assert px.jit(lambda x: x * small).trace(1.0).jaxpr.consts == []


def test_a_constant_used_twice_is_hoisted_once() -> None:
    a = put(3)
    assert len(px.jit(lambda x: x + a + a * a).trace(1.0).jaxpr.consts) == 1


def test_closures_over_tracers() -> None:
    def f(x: Any) -> Any:
        return px.jit(lambda y: x * y)(2.0) * x

    assert float(px.grad(f)(3.0)) == 12.0
    assert float(px.jit(f)(3.0)) == 18.0
    assert float(px.jit(px.grad(px.jit(f)))(3.0)) == 12.0
    assert px.vmap(f)(put(3)).tolist() == [0.0, 2.0, 8.0]
    inner = px.jit(lambda x, g: g(x), static_argnums=1)
    assert float(px.grad(lambda x: inner(x, lambda y: x * y))(3.0)) == 6.0


def test_a_cached_program_does_not_leak_an_older_tracer() -> None:
    held: list[Any] = [None]

    def inner(y: Any) -> Any:
        return held[0] * y

    g = px.jit(inner)

    def f(x: Any) -> Any:
        held[0] = x
        return g(2.0)

    assert [float(px.grad(f)(v)) for v in (1.0, 2.0)] == [2.0, 2.0]
    assert [float(px.jit(f)(v)) for v in (1.0, 2.0)] == [2.0, 4.0]
    with pytest.raises(UnexpectedTracerError):
        g(2.0)


def test_a_tracer_that_escaped_is_refused() -> None:
    leaked: list[Any] = []
    px.jit(lambda x: leaked.append(x * 2.0))(1.0)
    for use in (
        px.jit(lambda x: x),
        lambda x: x + 1.0,
        px.jit(lambda x: leaked[0] + 1.0),
        px.grad(lambda x: x * x),
    ):
        with pytest.raises(UnexpectedTracerError, match="escaped from"):
            use(*leaked)


def test_donated_arguments_are_gone() -> None:
    def step(state: Any, x: Any, *, scale: Any = 1.0) -> Any:
        return {"w": state["w"] + x * scale}

    for options in ({"donate_argnums": 0}, {"donate_argnames": "state"}):
        f = px.jit(step, **options)
        state, x = {"w": put(3)}, put(3)
        for count in range(1, 4):
            before, state = state, f(state, x)
            assert before["w"].is_deleted()
            assert not x.is_deleted()
            assert state["w"].tolist() == [0.0, 1.0 + count, 2.0 + 2 * count]
            with pytest.raises(DeletedArrayError, match="was donated to step"):
                f(before, x)
    scale = px.device_put(np.float32(2))
    with pytest.warns(UserWarning, match="match no result"):
        px.jit(step, donate_argnames="scale")({"w": put(3)}, x, scale=scale)
    assert px.jit(step, donate_argnums=0)({"w": ONES}, ONES)["w"].tolist() == [2.0] * 3


def test_donation_reuses_the_buffer() -> None:
    f = px.jit(lambda x: x + 1.0, donate_argnums=0)
    x = put(1 << 16)
    address = x.unsafe_buffer_pointer()
    assert f(x).unsafe_buffer_pointer() == address


def test_donation_that_no_result_can_use_is_reported() -> None:
    f = px.jit(lambda x, y: x.sum() + y, donate_argnums=(0, 1))
    x, y = put(3), px.device_put(np.float32(1))
    with pytest.warns(
        UserWarning,
        match=r"^Some donated buffers were not usable: arguments of jit_<lambda> of types \[f32\[3\]\] match no",
    ):
        assert float(f(x, y)) == 4.0
    assert (x.is_deleted(), y.is_deleted()) == (False, True)


def test_donation_means_nothing_inside_transformations() -> None:
    f = px.jit(lambda x: x * x, donate_argnums=0)
    x = px.device_put(np.float32(3))
    assert float(px.grad(f)(x)) == 6.0
    assert float(px.jit(lambda x: f(x) + x)(x)) == 12.0
    closed = px.make_jaxpr(lambda x: f(x) + x)(x)
    assert float(core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0]) == 12.0
    assert not x.is_deleted()


def test_an_argument_cannot_be_static_and_donated() -> None:
    with pytest.raises(ValueError, match=r"both static and donated, got \[0\]"):
        px.jit(lambda x: x, static_argnums=0, donate_argnums=0)


f_inner = px.jit(lambda x: pnp.sin(x) * x)

NESTINGS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "plain": lambda f: f,
    "jit": px.jit,
    "jit jit": lambda f: px.jit(px.jit(f)),
    "jit inline": lambda f: px.jit(px.jit(f, inline=True)),
    "jit keep_unused": lambda f: px.jit(f, keep_unused=True),
}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_transformations_of_jitted_functions_are_those_of_the_function(nesting: str) -> None:
    def f(x: Any) -> Any:
        return pnp.sin(x) * x

    g = NESTINGS[nesting](f)
    x = 0.7
    derivative = math.cos(x) * x + math.sin(x)
    second = 2 * math.cos(x) - math.sin(x) * x
    for h in (lambda k: k, px.jit):
        np.testing.assert_allclose(h(g)(x), math.sin(x) * x, rtol=1e-6)
        np.testing.assert_allclose(h(px.grad(g))(x), derivative, rtol=1e-5)
        np.testing.assert_allclose(px.grad(h(px.grad(g)))(x), second, rtol=1e-5)
        np.testing.assert_allclose(px.jvp(h(g), (x,), (2.0,))[1], 2 * derivative, rtol=1e-5)
        np.testing.assert_allclose(px.linearize(h(g), x)[1](2.0), 2 * derivative, rtol=1e-5)
        np.testing.assert_allclose(px.vjp(h(g), x)[1](2.0)[0], 2 * derivative, rtol=1e-5)
        batch = np.linspace(0, 1, 4, dtype=np.float32)
        np.testing.assert_allclose(h(px.vmap(g))(batch), np.sin(batch) * batch, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(px.jacfwd(h(g))(x), derivative, rtol=1e-5)


@pytest.mark.parametrize("value", [np.arange(3, dtype=np.float32), np.float32(2), 2.0, 3, True])
def test_what_an_inlined_function_closes_over_comes_back_as_an_array(value: Any) -> None:
    f = px.jit(lambda x: value, inline=True)
    results = [f(1.0), px.jvp(f, (1.0,), (1.0,))[0], px.linearize(f, 1.0)[0], px.vjp(f, 1.0)[0], px.vmap(f)(np.ones(1))]
    other = px.jvp(lambda x: px.jit(lambda y: y, inline=True)(value), (1.0,), (1.0,))[0]
    assert [type(x) for x in [*results, other]] == [px.Array] * 6
    assert {(x.dtype.name, x.weak_type) for x in [*results, other]} == {
        (px.typeof(value).dtype.name, px.typeof(value).weak_type)
    }
    staged = px.make_jaxpr(lambda x: px.jvp(f, (x,), (x,))[0])(1.0)
    assert len(staged.consts) == (np.ndim(value) > 0)


def test_inline_leaves_no_call() -> None:
    inner = px.jit(lambda x: x * 2.0, inline=True)
    assert [str(e.primitive) for e in px.make_jaxpr(inner)(1.0).eqns] == ["mul"]
    outer = px.jit(lambda x: x * 2.0)
    assert [str(e.primitive) for e in px.make_jaxpr(outer)(1.0).eqns] == ["jit"]


def test_unused_arguments_are_passed_only_if_asked() -> None:
    f = lambda x, y: x * 2.0  # noqa: E731
    assert "%arg1" not in px.jit(f).lower(1.0, 2.0).as_text()
    assert "%arg1" in px.jit(f, keep_unused=True).lower(1.0, 2.0).as_text()
    kept = px.jit(f, keep_unused=True)
    for _ in range(3):
        assert float(kept(1.0, 2.0)) == 2.0


def test_two_hundred_nested_jits() -> None:
    def nest(depth: int) -> Callable[[Any], Any]:
        if depth == 0:
            return lambda x: x * 1.5
        inner = nest(depth - 1)
        return px.jit(lambda x: inner(x) + 1.0)

    f = nest(200)
    for _ in range(2):
        assert float(f(2.0)) == 203.0
    assert float(px.grad(f)(2.0)) == 1.5
    assert px.vmap(f)(put(2)).tolist() == [200.0, 201.5]


def test_recursion_without_end_is_an_error_not_a_crash() -> None:
    @px.jit
    def f(x: Any) -> Any:
        return f(x) + 1.0

    with pytest.raises(RecursionError):
        f(1.0)
    assert float(px.jit(lambda x: x + 1.0)(1.0)) == 2.0


def test_recursion_by_static_argument() -> None:
    @partial(px.jit, static_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x * power(x, n - 1) if n else 1.0

    assert float(power(2.0, 5)) == 32.0


def test_disable_jit_runs_the_function_as_it_stands() -> None:
    seen: list[Any] = []

    @px.jit
    def f(x: Any) -> Any:
        seen.append(x)
        return x * 2.0 if x > 0 else x

    with pytest.raises(px.errors.TracerBoolConversionError):
        f(1.0)
    with px.disable_jit():
        assert float(f(1.0)) == 2.0
        assert seen[-1] == 1.0
        assert float(px.grad(f)(1.0)) == 2.0
        assert float(put(3)[1] + 1.0) == 2.0
    with pytest.raises(px.errors.TracerBoolConversionError):
        f(1.0)


def test_stages() -> None:
    f = px.jit(lambda x, y: {"out": x @ y["w"]}, donate_argnums=0)
    args = (put(2, 4), {"w": put(4, 4)})
    traced = f.trace(*args)
    assert [str(e.primitive) for e in traced.jaxpr.eqns] == ["dot_general"]
    assert traced.out_info == {"out": px.ShapeDtypeStruct((2, 4), np.float32)}
    assert traced.fun_name == "<lambda>"
    assert repr(traced) == "<Traced <lambda>>"
    assert isinstance(traced, px.stages.Traced)
    lowered = traced.lower()
    assert isinstance(lowered, px.stages.Lowered)
    assert "stablehlo.dot_general" in lowered.as_text()
    assert "HloModule" in lowered.as_text("hlo")
    assert "test_calls.py" in lowered.as_text(debug_info=True)
    assert lowered.cost_analysis()["flops"] >= 64
    assert lowered.compiler_ir().operation.name == "builtin.module"
    assert lowered.in_tree == px.tree.structure((args, {}))
    assert lowered.out_tree == px.tree.structure({"out": 0})
    with pytest.raises(ValueError, match="dialect must be 'stablehlo' or 'hlo', got 'llvm'"):
        lowered.as_text("llvm")
    compiled = lowered.compile()
    assert isinstance(compiled, px.stages.Compiled)
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] >= 64
    assert compiled.memory_analysis().output_size_in_bytes == 32
    assert compiled.runtime_executable().local_devices() == px.devices()[:1]
    assert "cpu" in repr(compiled)
    expected = np.asarray(args[0]) @ np.asarray(args[1]["w"])
    out = compiled(*args)
    np.testing.assert_allclose(out["out"], expected)
    assert args[0].is_deleted()


def test_stages_take_types_for_arguments() -> None:
    f = px.jit(lambda x, *, y: x + y)
    compiled = f.lower(px.ShapeDtypeStruct((3,), np.float32), y=px.ShapeDtypeStruct((), np.float32)).compile()
    assert compiled(ONES, y=np.float32(2)).tolist() == [3.0] * 3
    assert f.eval_shape(px.ShapeDtypeStruct((3,), np.float32), y=1.0).shape == (3,)


def test_stages_leave_static_arguments_out() -> None:
    f = px.jit(lambda x, n: x * n, static_argnums=1)
    compiled = f.lower(2.0, 3).compile()
    assert float(compiled(5.0)) == 15.0


def test_a_compiled_program_refuses_what_it_was_not_compiled_for() -> None:
    compiled = px.jit(lambda x: x["a"] + 1.0).lower({"a": ONES}).compile()
    with pytest.raises(TypeError, match=r"\['a'\] must be f32\[3\].*got f32\[2\]"):
        compiled({"a": ONES[:2]})
    with pytest.raises(TypeError, match=r"\['a'\] must be f32\[3\].*got i32\[3\]"):
        compiled({"a": np.arange(3, dtype=np.int32)})
    with pytest.raises(TypeError, match="differ in structure"):
        compiled({"b": ONES})
    with pytest.raises(TypeError, match="differ in structure"):
        compiled({"a": ONES}, 1.0)
    with pytest.raises(TypeError, match="a compiled program cannot be transformed"):
        px.jit(lambda x: compiled({"a": x}))(ONES)
    with pytest.raises(TypeError, match="a compiled program cannot be transformed"):
        px.vmap(lambda x: compiled({"a": x}))(np.ones((2, 3), np.float32))


def test_functions_keep_their_names_and_documentation() -> None:
    @px.jit
    def documented(x: Any) -> Any:
        """What it does."""
        return x

    assert (documented.__name__, documented.__doc__) == ("documented", "What it does.")
    donating = px.jit(documented.__wrapped__, donate_argnums=0)
    assert (donating.__name__, donating.__doc__) == ("documented", "What it does.")
    assert "@jit_documented" in documented.lower(1.0).as_text()


def live_executables() -> int:
    found, before = len(runtime.client().live_executables()), -1
    while found != before:  # what one collection frees may hold what the next one does
        gc.collect()
        found, before = len(runtime.client().live_executables()), found
    return found


@pytest.mark.parametrize("options", [{}, {"donate_argnums": 0}, {"static_argnums": 1}])
def test_deleting_a_function_frees_its_programs_and_arrays(options: dict[str, Any]) -> None:
    held = put(100)
    watched = weakref.ref(held)
    held_by_numpy = np.ones(100, np.float32)
    watched_numpy = weakref.ref(held_by_numpy)
    before = live_executables()

    def adder(a: Any, b: Any) -> Callable[..., Any]:
        def f(x: Any, n: Any = 1) -> Any:
            return x + a + b

        return f

    f = adder(held, held_by_numpy)
    g = px.jit(f, **options)
    for _ in range(3):
        g(put(100))
        g(np.ones(100, np.float32))
    g(put(1, 100))
    assert live_executables() > before
    function = weakref.ref(f)
    del f, g, held, held_by_numpy
    assert live_executables() == before
    assert [type(one()) for one in (function, watched, watched_numpy)] == [type(None)] * 3


def test_transformed_and_nested_functions_are_freed() -> None:
    held = put(10)
    watched = weakref.ref(held)
    px.grad(lambda x: pnp.sum(x * 1.0))(put(10))  # the eager programs it needs
    before = live_executables()

    def summed_product(a: Any) -> Callable[[Any], Any]:
        return lambda x: pnp.sum(px.jit(lambda y: y * a)(x))

    f = summed_product(held)
    g = px.jit(px.grad(f))
    g(put(10)), px.jit(px.vmap(f))(put(2, 10))
    px.grad(px.jit(f))(put(10))
    del f, g, held
    assert live_executables() <= before + 2  # eager programs of the last call
    assert watched() is None


def test_arguments_and_results_are_not_kept() -> None:
    f = px.jit(lambda x: x + 1.0)
    x = put(100)
    y = f(x)
    y = f(x)
    seen = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [r() for r in seen] == [None, None]


def test_clear_caches_forgets_programs() -> None:
    f = Counted(lambda x: x + 1.0)
    g = px.jit(f)
    g(1.0)
    px.clear_caches()
    g(1.0), g(1.0)
    assert f.calls == 2
    g.clear_cache()
    g(1.0), g(1.0)
    assert f.calls == 3


def test_an_exception_leaves_the_cache_usable(entries: list[str]) -> None:
    fail = [True]

    def f(x: Any) -> Any:
        if fail[0]:
            raise ValueError("not now")
        return x + 1.0

    g = px.jit(f)
    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            g(1.0)
    fail[0] = False
    g(1.0), g(1.0)
    entries.clear()
    assert float(g(1.0)) == 2.0
    assert entries == []  # dispatched by jaxlib again


def test_a_call_that_raises_leaves_all_other_signatures_to_jaxlib(entries: list[str]) -> None:
    def f(x: Any) -> Any:
        if x.shape == (3,):
            raise ValueError("not this one")
        return x + 1.0

    g = px.jit(f)
    g(pnp.ones(2)), g(1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="not this one"):
            g(pnp.ones(3))
    entries.clear()
    g(pnp.ones(2)), g(1.0)
    assert entries == []


@pytest.mark.parametrize(
    "one, other",
    [
        (0.0, -0.0),
        (np.float32(0.0), np.float32(-0.0)),
        ((0.0,), (-0.0,)),
        ((1,), (True,)),
        (((1,),), ((True,),)),
        (Named(1.0, 0.0), Named(1.0, -0.0)),
        (Named(1, 0), Named(True, 0)),
        (complex(0.0, 1.0), complex(-0.0, 1.0)),
    ],
)
def test_static_arguments_that_are_equal_but_not_the_same_share_no_program(one: Any, other: Any) -> None:
    seen: list[Any] = []
    f = px.jit(lambda x, s: [x, seen.append(s)][0], static_argnums=1)
    for value in (one, other, one, other):
        f(1.0, value)
    assert list(map(repr, seen)) == [repr(one), repr(other)]


def test_static_arguments_are_left_to_jaxlib_where_equal_values_are_the_same(entries: list[str]) -> None:
    f = px.jit(lambda x, s: x, static_argnums=1)
    statics: tuple[Any, ...] = (3, "a", None, 0.5, (2, 3), True, np.dtype("float32"))
    statics += (0.0, -0.0, (1.0, True), (1, 1), ((len,), px.tree.structure((1, None))))
    for value in statics:
        f(1.0, value)
    entries.clear()
    for value in statics:
        f(1.0, value)
    assert entries == []


def test_a_lowering_that_changes_is_seen_by_jit_of_a_function_whose_jitted_form_is_gone() -> None:
    p = core.Primitive("tripled")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.AddOp(x, x).results)

    def f(x: Any) -> Any:
        return p.bind(x)

    g = px.jit(f)
    assert float(g(3.0)) == 6.0
    del g
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.MulOp(x, x).results)
    assert float(px.jit(f)(3.0)) == 9.0


def test_log_compiles(caplog: Any) -> None:
    f = px.jit(lambda x: x + 1.0)
    with px.log_compiles(True), core.config.compilation_cache_dir(None):
        f(1.0), f(1.0)
    assert [r.getMessage().split(" in ")[0] for r in caplog.records] == ["compiled jit_<lambda> for cpu:0"]
    assert caplog.records[0].levelno == logging.WARNING


def in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_trace_compile_and_run_at_once() -> None:
    f = Counted(lambda x: pnp.sin(x) + px.jit(lambda y: y * 2.0)(x))
    g = px.jit(f)

    def work(i: int) -> None:
        x = np.full(i % 3 + 1, i, np.float32)
        for _ in range(20):
            np.testing.assert_allclose(g(x), np.sin(x) + 2 * x, rtol=1e-6)
            assert float(px.grad(lambda x: pnp.sum(g(x)))(x)[0]) == pytest.approx(math.cos(i) + 2, rel=1e-5)
            own = px.jit(lambda x: x + i)
            assert float(own(np.float32(1))) == 1 + i

    in_threads(6, work)


def test_a_failure_in_one_thread_does_not_disturb_another() -> None:
    def f(x: Any) -> Any:
        if threading.current_thread().name.endswith("bad"):
            raise ValueError("bad thread")
        return x * 2.0

    g = px.jit(f)

    def work(i: int) -> None:
        if i % 2:
            threading.current_thread().name += "bad"
            for n in range(10):
                with pytest.raises(ValueError, match="bad thread"):
                    g(np.ones(n + 20, np.float32))
        else:
            for n in range(10):
                assert g(np.ones(n, np.float32)).tolist() == [2.0] * n

    in_threads(4, work)


def custom_call(name: str) -> core.Primitive:
    p = core.Primitive(name)
    p.def_abstract_eval(lambda x: x)

    def lowering(ctx: Any, x: Any) -> Any:
        four = mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(32), 4)
        return mlir.hlo.CustomCallOp([x.type], [x], call_target_name=name, api_version=four).results

    mlir.register_lowering(p, lowering)
    return p


def this_line() -> int:
    return sys._getframe(1).f_lineno


def test_what_xla_cannot_compile_is_an_error_with_the_users_line() -> None:
    nowhere_p = custom_call("nowhere_to_be_found")
    line = this_line() + 1
    f = px.jit(lambda x: nowhere_p.bind(x * 2.0) + 1.0)
    for _ in range(2):
        with pytest.raises(px.XlaError, match="XLA could not compile jit_<lambda>") as caught:
            f(1.0)
        assert "nowhere_to_be_found" in str(caught.value)
        assert f"{__file__}:{line}" in str(caught.value)
    with pytest.raises(px.XlaError, match="nowhere_to_be_found"):
        f.lower(1.0).compile()
    with pytest.raises(px.XlaError, match="nowhere_to_be_found"):
        nowhere_p.bind(1.0)


def test_a_lowering_that_makes_invalid_ir_is_an_error_with_the_users_line() -> None:
    p = core.Primitive("invalid")
    p.def_abstract_eval(lambda x: core.ShapedArray((2,), np.float32))
    mlir.register_lowering(p, lambda ctx, x: [x])
    line = this_line() + 1
    f = px.jit(lambda x: p.bind(x))
    with pytest.raises(px.errors.RuleError, match=r"lowering rule of invalid returned tensor<f.*> for") as error:
        f(1.0)
    assert f"{__file__}:{line} " in str(error.value)
    q = core.Primitive("without_lowering")
    q.def_abstract_eval(lambda x: x)
    line = this_line() + 1
    f = px.jit(lambda x: q.bind(x))
    with pytest.raises(px.errors.MissingRuleError, match="without_lowering") as caught:
        f(1.0)
    assert f"{__file__}:{line} " in str(caught.value)


def callback_call(
    ctx: Any, function: Callable[..., Any], operands: Any, results: Any, *, side_effect: bool = False
) -> Any:
    """A custom call of a Python function of the host."""
    ir = mlir.ir
    index = ctx.module_context.add_host_callback(function)
    number = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)
    return mlir.hlo.CustomCallOp(
        results,
        operands,
        call_target_name="xla_ffi_python_cpu_callback",
        has_side_effect=side_effect,
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        backend_config=ir.DictAttr.get({"index": number}),
    ).results


def test_a_program_that_fails_while_running_is_an_error_with_the_users_line() -> None:
    p = core.Primitive("picky")
    p.def_abstract_eval(lambda x: x)

    def picky(x: Any) -> Any:
        if x < 0:
            raise ValueError(f"got {float(x)}")
        return (np.sqrt(x),)

    mlir.register_lowering(p, lambda ctx, x: callback_call(ctx, picky, [x], [x.type]))
    line = this_line() + 1
    f = px.jit(lambda x: p.bind(x) + 1.0)
    for _ in range(2):  # the second time by jaxlib's fast path
        assert float(f(4.0)) == 3.0
        with pytest.raises(px.XlaError, match=r"ValueError: got -1\.0") as caught:
            f(-1.0).block_until_ready()
        assert f"The callback was made at {__file__}:{line}" in str(caught.value)
    assert float(f(9.0)) == 4.0
    gc.collect()
    assert float(f(9.0)) == 4.0


@dataclass(frozen=True)
class Note(core.Effect):
    """Something is written down, in order."""


@dataclass(frozen=True)
class Cry(core.Effect):
    """Something is said, whenever."""


register_effect(Note, ordered=True)
register_effect(Cry)
heard: list[Any] = []


def effectful(name: str, effect: core.Effect, ordered: bool) -> core.Primitive:
    p = core.Primitive(name, multiple_results=True)
    p.def_effectful_abstract_eval(lambda x, *, tag: ([], {effect}))

    def lowering(ctx: Any, x: Any, *, tag: str) -> Any:
        def callback(*args: Any) -> Any:
            if tag == "broken":
                raise ValueError("the pen is broken")
            heard.append((tag, args[-1].tolist()))
            return (None,) if ordered else ()

        if not ordered:
            callback_call(ctx, callback, [x], [], side_effect=True)
            return []
        token = ctx.tokens_in[effect]
        (after,) = callback_call(ctx, callback, [token, x], [token.type], side_effect=True)
        ctx.set_tokens_out({effect: after})
        return []

    mlir.register_lowering(p, lowering)
    return p


note_p = effectful("note", Note(), True)
cry_p = effectful("cry", Cry(), False)


@pytest.fixture
def record() -> Iterator[list[Any]]:
    heard.clear()
    yield heard
    px.effects_barrier()


def note(x: Any, tag: str) -> None:
    note_p.bind(x, tag=tag)


def test_ordered_effects_happen_in_order_across_calls_and_functions(record: list[Any]) -> None:
    @px.jit
    def f(x: Any) -> Any:
        note(x, "a")
        y = x + x
        note(y, "b")
        return y

    @px.jit
    def g(x: Any) -> Any:
        y = f(x)
        note(y, "c")
        return f(y)

    outs = [f(1.0), g(2.0), f(3.0)]
    note(7.0, "eager")
    outs.append(g(4.0))
    px.effects_barrier()

    def of_f(x: float) -> list[Any]:
        return [("a", x), ("b", 2 * x)]

    def of_g(x: float) -> list[Any]:
        return [*of_f(x), ("c", 2 * x), *of_f(2 * x)]

    assert record == [*of_f(1.0), *of_g(2.0), *of_f(3.0), ("eager", 7.0), *of_g(4.0)]
    assert [float(o) for o in outs] == [2.0, 8.0, 6.0, 16.0]


def test_effects_happen_although_nothing_is_returned(record: list[Any]) -> None:
    f = px.jit(lambda x: note(x * 2.0, "only"))
    h = px.jit(lambda x: (f(x), cry_p.bind(x, tag="cry"))[0])
    for _ in range(2):
        assert h(1.0) is None
    px.effects_barrier()
    assert sorted(record) == sorted([("only", 2.0), ("cry", 1.0)] * 2)
    assert [e for e in record if e[0] == "only"] == [("only", 2.0)] * 2


def test_unordered_effects_happen(record: list[Any]) -> None:
    f = px.jit(lambda x: [cry_p.bind(x, tag="x"), x + 1.0][1])
    outs = [float(f(float(i))) for i in range(5)]
    px.effects_barrier()
    assert sorted(record) == [("x", float(i)) for i in range(5)]
    assert outs == [1.0, 2.0, 3.0, 4.0, 5.0]
    cry_p.bind(9.0, tag="eager")
    px.effects_barrier()
    assert record[-1] == ("eager", 9.0)


def test_an_effect_that_fails_is_reported_and_does_not_stop_later_ones(record: list[Any]) -> None:
    for p in (note_p, cry_p):
        f = px.jit(lambda x, tag, p=p: [p.bind(x, tag=tag), x][1], static_argnums=1)
        with pytest.raises(px.XlaError, match="the pen is broken"):
            f(1.0, "broken")
        px.effects_barrier()
        f(2.0, "fine")
        px.effects_barrier()
        assert record.pop() == ("fine", 2.0)


def test_effects_are_written_in_jaxprs_and_stages(record: list[Any]) -> None:
    f = px.jit(lambda x: [note(x, "a"), x][1])
    assert px.make_jaxpr(f)(1.0).effects == {Note()}
    lowered = f.lower(1.0)
    assert "!stablehlo.token" in lowered.as_text()
    assert float(lowered.compile()(3.0)) == 3.0
    px.effects_barrier()
    assert record == [("a", 3.0)]


def test_threads_have_effects_of_their_own(record: list[Any]) -> None:
    f = px.jit(lambda x, tag: [note(x, tag), x][1], static_argnums=1)

    def work(i: int) -> None:
        for n in range(5):
            f(float(n), f"thread {i}")
        px.effects_barrier()

    in_threads(3, work)
    for i in range(3):
        assert [x for tag, x in record if tag == f"thread {i}"] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_shapes_of_a_jitted_function_with_static_arguments() -> None:
    f = px.jit(lambda x, n: x[:n], static_argnums=1)
    for x in (np.ones(3, np.float32), px.ShapeDtypeStruct((3,), np.float32)):
        assert px.eval_shape(f, x, 2).shape == f.eval_shape(x, 2).shape == (2,)


def test_shapes_come_with_the_prescribed_shardings() -> None:
    place = px.sharding.SingleDeviceSharding(px.devices()[0])
    f = px.jit(lambda x: (x * 2, x), out_shardings=(place, None))
    for doubled, same in (px.eval_shape(f, 1.0), f.trace(1.0).out_info, f.lower(1.0).out_info):
        assert doubled.sharding == place
        assert same.sharding is None


def test_eval_shape() -> None:
    shapes = px.eval_shape(
        lambda x, y: {"z": x @ y}, px.ShapeDtypeStruct((2, 3), np.float32), np.ones((3, 4), np.float32)
    )
    assert shapes == {"z": px.ShapeDtypeStruct((2, 4), np.float32)}


@pytest.mark.parametrize("whose", ["jax", "anybody"])
def test_programs_are_looked_at_for_whatever_has_a_shape_and_a_dtype(whose):
    make = pytest.importorskip("jax").ShapeDtypeStruct if whose == "jax" else SimpleNamespace
    x = make(shape=(2, 3), dtype=np.dtype("float32"))
    f = px.jit(lambda x: x.sum(0))
    assert f.lower(x).compile()(np.ones((2, 3), np.float32)).tolist() == [2.0, 2.0, 2.0]
    assert str(f.trace(x).jaxpr) == str(px.make_jaxpr(lambda x: x.sum(0))(x))
    assert px.eval_shape(f, x).shape == (3,)
    with pytest.raises(TypeError, match="argument x must be an array"):
        f(x)


def test_containers_may_look_at_what_results_are():
    class Sorted:
        """Arrays are its leaves, everything else belongs to its structure."""

        def __init__(self, **parts):
            self.parts = parts

        def tree_flatten(self):
            names = [name for name, x in self.parts.items() if core.valid_jaxtype(x) and not isinstance(x, int)]
            rest = {name: x for name, x in self.parts.items() if name not in names}
            return [self.parts[name] for name in names], (tuple(names), tuple(rest.items()))

        @classmethod
        def tree_unflatten(cls, structure, leaves):
            names, rest = structure
            return cls(**dict(zip(names, leaves, strict=True)), **dict(rest))

    px.tree_util.register_pytree_node_class(Sorted)
    f = px.jit(lambda x: Sorted(x=x.parts["x"] + 1, size=3))
    for _ in range(3):
        found = f(Sorted(x=pnp.ones(2), size=3))
        assert found.parts["x"].tolist() == [2, 2]
        assert found.parts["size"] == 3


def test_functions_of_any_number_of_arguments_are_of_jaxlibs_type_with_as_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    assert px.jit(lambda *xs: xs[::-1])(*map(float, range(40))) == tuple(map(float, reversed(range(40))))
    monkeypatch.setitem(sys.modules, "primax.as_jax", sys)
    kinds = {type(px.jit(f)) for f in (lambda x: x, lambda *xs: xs, lambda x, **named: x)}
    assert len(kinds) == 1
    assert px.jit(lambda *xs: xs[::-1])(*map(float, range(40))) == tuple(map(float, reversed(range(40))))
