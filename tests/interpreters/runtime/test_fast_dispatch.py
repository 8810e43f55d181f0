"""Direct calls compute what jaxlib's dispatcher computes, and leave to it what they must."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from processes import HANG

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.trace_state import fast_path_blockers, thread_blockers, tracing
from primax.extend import core
from primax.interpreters.runtime import dispatch
from primax.interpreters.runtime.arg_signature import arg_signature
from primax.interpreters.runtime.executable import Executable


class Ways:
    """How calls were carried out: by jaxlib's dispatcher, or by Python for a new signature."""

    def __init__(self) -> None:
        self.dispatched = 0
        self.missed = 0


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    """Counts calls of the functions that are jitted in a test and are not direct."""
    seen = Ways()
    pjit = dispatch._jaxlib.pjit
    run = Executable.__call__

    class Counting:
        def __init__(self, function: Any) -> None:
            self.function = function

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            seen.dispatched += 1
            return self.function(*args, **kwargs)

        def _clear_cache(self) -> None:
            self.function._clear_cache()

        def _cache_size(self) -> int:
            return self.function._cache_size()

    def noted(executable: Executable, args: Any) -> Any:
        seen.missed += 1
        return run(executable, args)

    monkeypatch.setattr(dispatch._jaxlib, "pjit", lambda *args: Counting(pjit(*args)))
    monkeypatch.setattr(Executable, "__call__", noted)
    return seen


def direct(ways: Ways, call: Any) -> Any:
    """The result of a call, which must be direct."""
    before = ways.dispatched
    out = call()
    assert ways.dispatched == before
    return out


def by_dispatcher(ways: Ways, call: Any) -> Any:
    """The result of a call that must not be direct."""
    before = ways.dispatched
    out = call()
    assert ways.dispatched > before
    return out


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """What makes calls unusual is gone after each test."""
    before = list(fast_path_blockers)
    yield
    assert fast_path_blockers == before
    assert not thread_blockers
    assert not tracing


def test_a_signature_is_direct_after_its_first_call(ways):
    f = px.jit(lambda x, y: x * y + 1)
    x, y = pnp.ones(3), pnp.arange(3.0)
    assert by_dispatcher(ways, lambda: f(x, y)).tolist() == [1, 2, 3]
    out = direct(ways, lambda: f(x, y))
    assert out.tolist() == [1, 2, 3]
    assert direct(ways, lambda: f(out, out)).tolist() == [2, 5, 10]
    by_dispatcher(ways, lambda: f(x, pnp.ones(1)))
    by_dispatcher(ways, lambda: f(x.astype(np.int32), y))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_functions_of_any_number_of_arrays(ways, count):
    f = px.jit(lambda *xs: sum(xs, start=pnp.float32(1)))
    xs = [pnp.float32(i) for i in range(count)]
    f(*xs)
    assert float(direct(ways, lambda: f(*xs))) == 1 + sum(range(count))


def test_types_weak_types_and_places_are_distinguished(ways):
    f = px.jit(lambda x: x * pnp.ones((), pnp.bfloat16))
    strong, weak = pnp.ones((), np.float32), pnp.asarray(1.0)
    assert weak.weak_type
    for x in (strong, weak):
        f(x)
    assert [direct(ways, lambda x=x: f(x)).dtype for x in (strong, weak, strong)] == ["float32", "bfloat16", "float32"]
    here = px.devices()[0]
    committed = px.device_put(strong, here)
    assert by_dispatcher(ways, lambda: f(committed)).committed
    assert direct(ways, lambda: f(committed)).committed
    assert not direct(ways, lambda: f(strong)).committed


NUMBERS = [0.0, -0.0, 1.0, 1, 0, True, False, 2, -1.0, 1e30, math.inf, -math.inf, math.nan, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_numbers_keep_their_values_and_types(ways, x):
    f = px.jit(lambda a, b: (a, b))
    y = pnp.ones(2)
    expected = f(x, y)[0]
    for other in NUMBERS:
        f(other, y)
    got = direct(ways, lambda: f(x, y))[0]
    assert got.aval is expected.aval
    assert got.weak_type is (type(x) is not bool)
    np.testing.assert_array_equal(got, np.asarray(x, got.dtype))
    assert math.copysign(1, float(got)) == math.copysign(1, x)


SCALARS = [
    *(np.float32(x) for x in (0.0, -0.0, 1.5, math.nan, math.inf)),
    *(np.float64(x) for x in (0.0, -0.0, 0.1)),
    *(np.int64(x) for x in (0, 1, -(2**31), 2**40 + 5)),
    *(np.float16(1), np.int32(1), np.uint32(2**32 - 1), np.uint8(255), np.bool_(True), np.bool_(False)),
]


@pytest.mark.parametrize("x", SCALARS, ids=repr)
def test_scalars_of_numpy_keep_their_values_and_types(ways, x):
    f = px.jit(lambda a, b: (a, b))
    y = pnp.ones(2)
    expected = f(x, y)[0]
    for other in [*SCALARS, *NUMBERS]:
        f(other, y)
    got = direct(ways, lambda: f(x, y))[0]
    assert got.aval is expected.aval
    assert not got.weak_type
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(np.asarray(got, float)), np.signbit(x))


@pytest.mark.parametrize("kind", [int, float, np.float32])
@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_the_dispatcher_transfers_a_number_until_it_comes_again(ways, kind, count):
    f = px.jit(lambda x, *ys: x + sum(ys))
    ys = [pnp.ones(2)] * count
    f(kind(1), *ys)
    first = 1000 * (count + 2)  # numbers are kept for all functions
    for n in range(first, first + 400):
        assert float(by_dispatcher(ways, lambda n=n: f(kind(n), *ys)).max()) == n + count
        if n % 5 == 0:
            assert float(direct(ways, lambda n=n: f(kind(n), *ys)).max()) == n + count


@pytest.mark.parametrize("error", [KeyError, AttributeError, ValueError])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_function_that_raises_for_a_new_number_is_called_once(error, count):
    def f(*xs):
        calls.append(1)
        raise error("its own")

    calls = []
    for n in (0.123, 0.456):
        with pytest.raises(error, match="its own"):
            px.jit(f)(*[n] * count)
    assert len(calls) == 2


def test_integers_that_are_too_large_raise_at_every_call():
    f = px.jit(lambda x, y: x + y)
    f(1, pnp.ones(2))
    f(1, pnp.ones(2))
    if not px.config.enable_x64:
        for _ in range(2):
            with pytest.raises(OverflowError):
                f(2**40, pnp.ones(2))
    assert f(2, pnp.ones(2)).tolist() == [3, 3]


def test_subclasses_of_numbers_and_other_values_are_left_to_the_dispatcher(ways):
    f = px.jit(lambda x, y: x + y)
    y = pnp.ones(2, np.float32)
    f(1.0, y)
    f(1.0, y)
    for x in (np.complex64(1), np.ones(2, np.float32), type("Float", (float,), {})(1.0)):
        assert by_dispatcher(ways, lambda x=x: f(x, y)).tolist() == [2, 2]


class Delegate:
    """A wrapper that gives the attributes of what it wraps, and is another pytree."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["value"], name)


px.tree_util.register_pytree_node(Delegate, lambda d: ((d.value,), None), lambda _, children: Delegate(*children))


def test_an_object_that_delegates_to_an_array_is_no_array():
    f = px.jit(lambda x: x.value * 2 if isinstance(x, Delegate) else x * 3)
    x = pnp.ones(2)
    f(x)
    assert f(x).tolist() == [3, 3]
    assert [f(Delegate(x)).tolist() for _ in range(2)] == [[2, 2]] * 2


Pair = namedtuple("Pair", "a b")


def many(count: int = 20) -> list[Any]:
    return [pnp.float32(i) for i in range(count)]


def test_containers_with_many_arrays_are_direct_and_their_structures_distinguished(ways):
    def shown(tree: Any) -> Any:
        weights = px.tree.map(lambda x: x * 2, tree)
        return weights if isinstance(tree, dict) else px.tree.leaves(weights)[0]

    f = px.jit(shown)
    xs = many()
    trees = [{"x": xs}, (xs, None), [xs], {"y": xs}, Pair(xs[:10], xs[10:]), {"x": Pair(xs[:1], xs[1:])}]
    expected = [f(tree) for tree in trees]
    for tree, value in zip(trees, expected, strict=True):
        got = direct(ways, lambda tree=tree: f(tree))
        assert px.tree.structure(got) == px.tree.structure(value)
        assert px.tree.map(float, got) == px.tree.map(float, value)


def test_containers_may_hold_numbers(ways):
    f = px.jit(lambda tree, scale: [x * scale for x in tree["x"]])
    f({"x": many()}, 2.0)
    assert [float(x) for x in direct(ways, lambda: f({"x": many()}, 3.0))] == [3.0 * i for i in range(20)]
    assert [float(x) for x in f({"x": [*many(19), 5.0]}, 3.0)][-1] == 15


def test_small_containers_and_large_ones_alternate():
    f = px.jit(lambda tree: sum(tree))
    for _ in range(3):
        for count in (2, 30, 3):
            assert float(f(many(count))) == sum(range(count))


def test_keywords_have_no_order_and_are_not_positions(ways):
    f = px.jit(lambda x, y=2.0, **kwargs: x - y + sum(kwargs.values()) * 10)
    one, two, three = (pnp.float32(i) for i in (1, 2, 3))
    assert float(f(one, two)) == -1
    assert float(f(one, y=three)) == -2
    assert float(f(one, z=two, y=three)) == 18
    assert float(direct(ways, lambda: f(one, y=three))) == -2
    assert float(direct(ways, lambda: f(one, two))) == -1
    for _ in range(2):
        assert float(direct(ways, lambda: f(one, z=two, y=three))) == 18
        assert float(direct(ways, lambda: f(one, y=three, z=two))) == 18
    assert float(f(one, a=two, z=three)) == 49
    with pytest.raises(TypeError):
        f(one, two, y=three)


def test_calls_that_flatten_alike_are_distinguished():
    f = px.jit(lambda *args, **kwargs: pnp.float32(len(args) * 10 + len(kwargs)))
    xs = many()
    calls = [((xs,), {}), ((), {"k": xs}), ((xs, {}), {}), ((tuple(xs),), {"k": xs}), (([xs], {"k": xs}), {})]
    for _ in range(3):
        for args, kwargs in calls:
            assert int(f(*args, **kwargs)) == len(args) * 10 + len(kwargs)


def test_static_arguments_are_compared_exactly(ways):
    f = px.jit(lambda n, x, *, kind=None: x + len(repr(n)) + len(repr(kind)), static_argnums=0, static_argnames="kind")
    x = pnp.zeros(2)
    values = [0.0, -0.0, 1, True, 1.0, "a", (1, True), (1, 1), (0.0,), (-0.0,), None]
    for value in values:
        f(value, x)
        f(value, x, kind=value)
    for value in values:
        length = len(repr(value))
        assert direct(ways, lambda value=value: f(value, x)).tolist() == [length + 4] * 2
        assert direct(ways, lambda value=value: f(value, x, kind=value)).tolist() == [2 * length] * 2
    for _ in range(2):
        with pytest.raises(ValueError, match="Non-hashable static"):
            f([1], x)


def test_a_static_argument_that_is_left_out_is_not_an_array(ways):
    f = px.jit(lambda x, n=3: x * n, static_argnums=1)
    x = pnp.ones(2)
    f(x)
    assert direct(ways, lambda: f(x)).tolist() == [3, 3]
    for _ in range(2):
        assert f(x, 3).tolist() == [3, 3]
        assert f(x, 4).tolist() == [4, 4]
        assert f(x, n=5).tolist() == [5, 5]
        with pytest.raises(ValueError, match="Non-hashable static"):
            f(x, x)


def test_results_may_be_any_tree(ways):
    f = px.jit(lambda x: {"a": x, "b": (x * 2, None, [x * 3]), "c": Pair(x, 2.0)})
    one, two = pnp.float32(1), pnp.float32(2)
    f(one)
    out = direct(ways, lambda: f(two))
    assert px.tree.map(float, out) == {"a": 2, "b": (4, None, [6]), "c": Pair(2, 2)}
    assert out["c"].b.weak_type


def test_constants_and_unused_arguments(ways):
    table = pnp.arange(5.0)
    f = px.jit(lambda x, unused, i: table[i] + x)
    args = pnp.float32(1), pnp.ones(7), pnp.int32(3)
    f(*args)
    assert float(direct(ways, lambda: f(*args))) == 4


def test_functions_without_arguments_and_without_results(ways):
    f, g = px.jit(lambda: pnp.arange(3)), px.jit(lambda x: None)
    f(), g(pnp.ones(2))
    assert direct(ways, f).tolist() == [0, 1, 2]
    assert direct(ways, lambda: g(pnp.ones(2))) is None


def test_deleted_arrays_raise_and_later_calls_are_direct(ways):
    f = px.jit(lambda x, y: x + y)
    x, y = pnp.ones(3), pnp.ones(3)
    f(x, y)
    f(x, y)
    y.delete()
    assert arg_signature(y) is None
    for _ in range(2):
        with pytest.raises(px.errors.DeletedArrayError):
            f(x, y)
    assert direct(ways, lambda: f(x, x)).tolist() == [2, 2, 2]


def test_an_array_that_is_deleted_during_a_call_raises_the_error_for_deleted_arrays(ways, monkeypatch):
    f = px.jit(lambda x: x + 1)
    x = pnp.ones(3)
    f(x)
    f(x)
    form = arg_signature(x)
    x.delete()
    x._signature = form  # as another thread sees it that has read the form before
    with pytest.raises(px.errors.DeletedArrayError):
        f(x)


def test_donated_arrays_are_gone_and_constants_are_copied(ways):
    f = px.jit(lambda x, y: x + y, donate_argnums=0)
    y = pnp.ones(3)
    x = f(pnp.zeros(3), y)
    before = x
    x = direct(ways, lambda: f(x, y))
    assert before.is_deleted()
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(px.errors.DeletedArrayError, match="was donated"):
        f(before, y)
    g = px.jit(lambda z: z + y)
    g(x)
    assert f(y, x).tolist() == [3, 3, 3]
    assert y.is_deleted()
    assert g(x).tolist() == [3, 3, 3]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_containers_of_donated_arrays(ways, count):
    f = px.jit(lambda state, rate: {name: x + rate for name, x in state.items()}, donate_argnums=0)
    state = {f"{i:02}": pnp.full(3, i, pnp.float32) for i in range(count)}
    rate = pnp.float32(1)
    for _ in range(3):
        state = f(state, rate)
    before = state
    state = direct(ways, lambda: f(state, rate))
    assert [x.tolist() for x in state.values()] == [[i + 4.0] * 3 for i in range(count)]
    assert all(x.is_deleted() for x in before.values())
    assert not rate.is_deleted()
    with pytest.raises(px.errors.DeletedArrayError, match=r"was donated to <lambda>"):
        f(before, rate)
    kept = {name: np.asarray(x) for name, x in state.items()}  # views of the buffers
    new = f(state, rate)
    assert [x[0] for x in kept.values()] == [i + 4.0 for i in range(count)]
    assert [float(x[0]) for x in new.values()] == [i + 5.0 for i in range(count)]


def test_an_array_of_which_a_part_was_read_is_donated():
    f = px.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        x = pnp.zeros(1000) + 1
        parts = x[0], x[:2]
        f(x)
        assert x.is_deleted()
        assert [part.tolist() for part in parts] == [1, [1, 1]]


def test_a_donated_array_that_is_also_another_argument(ways):
    f = px.jit(lambda x, y, z: (x + z, y), donate_argnums=(0, 1))
    x, y, z = pnp.zeros(3), pnp.ones(4), pnp.ones(3)
    x, y = f(x, y, z)
    x, y = direct(ways, lambda: f(x, y, z))
    for _ in range(2):
        with pytest.raises(ValueError, match="must not be another argument of the same call"):
            f(x, y, x)
        with pytest.raises(ValueError, match="must not be another argument of the same call"):
            f(x, x, z)
    assert x.tolist() == [2, 2, 2]
    x, y = direct(ways, lambda: f(x, y, z))
    assert x.tolist() == [3, 3, 3]
    assert y.tolist() == [1, 1, 1, 1]


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_a_donated_array_that_no_result_can_reuse_stays(ways):
    f = px.jit(lambda x, y: (y * 2, pnp.sum(x)), donate_argnums=(0, 1))
    x, y = pnp.ones((2, 3)), pnp.ones(4)
    for _ in range(4):
        before = y
        y, total = f(x, y)
        assert not x.is_deleted()
        assert before.is_deleted()
        assert float(total) == 6


def test_one_of_several_threads_donates_an_array(ways):
    f = px.jit(lambda x: x + 1, donate_argnums=0)
    x = f(pnp.zeros(3))
    direct(ways, lambda: f(x))
    outcomes = []

    def donate(x: Any, start: threading.Barrier) -> None:
        start.wait()
        try:
            outcomes.append(f(x).tolist())
        except px.errors.DeletedArrayError:
            outcomes.append(None)

    for _ in range(200):
        x, start = pnp.zeros(3) + 1, threading.Barrier(4)
        threads = [threading.Thread(target=donate, args=(x, start)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(out == [2, 2, 2] for out in outcomes) == 200
    assert outcomes.count(None) == 600


@pytest.mark.filterwarnings("ignore:.*donated")
def test_a_number_can_be_donated_again_and_again(ways):
    f = px.jit(lambda x, y: x + y, donate_argnums=0)
    one, weak = pnp.float32(1), pnp.asarray(2.0)
    assert float(f(weak, one)) == 3
    assert [float(f(2.0, one)) for _ in range(4)] == [3.0] * 4
    g = px.jit(lambda x, y: x + y)
    g(2.0, one)
    assert float(direct(ways, lambda: g(2.0, one))) == 3


def test_a_constant_of_a_program_survives_its_donation_to_a_compiled_program():
    c = pnp.arange(3.0)
    f = px.jit(lambda x: x + c)
    f(pnp.ones(3))
    compiled = px.jit(lambda x: x * 2, donate_argnums=0).lower(c).compile()
    assert compiled(c).tolist() == [0, 2, 4]
    assert c.is_deleted()
    assert f(pnp.ones(3)).tolist() == [1, 2, 3]


def test_a_container_of_many_arrays_is_found_without_a_search(ways, monkeypatch):
    f = px.jit(lambda state: {name: x + 1 for name, x in state.items()})
    state = f({str(i): pnp.zeros(2) for i in range(40)})
    state = direct(ways, lambda: f(f(state)))
    monkeypatch.setattr(type(f._dispatch.programs), "find", lambda *args: pytest.fail("searched"))
    state = f(state)
    monkeypatch.undo()
    assert state["39"].tolist() == [4, 4]


def test_under_a_transformation_calls_are_staged():
    calls = []
    f = px.jit(lambda x: calls.append(1) or x * 2)
    x = pnp.ones(3)
    f(x)
    f(x)
    jaxpr = px.make_jaxpr(lambda y: f(x) + y)(x)
    assert "jit" in str(jaxpr)
    assert px.vmap(lambda y: f(x) + y)(pnp.ones((2, 3))).tolist() == [[3, 3, 3]] * 2
    assert px.grad(lambda y: (f(x) * y).sum())(x).tolist() == [2, 2, 2]
    assert f(x).tolist() == [2, 2, 2]


def test_a_thread_that_traces_leaves_other_threads_direct(ways):
    f = px.jit(lambda x: x + 1)
    x = pnp.ones(3)
    f(x)
    inside, done = threading.Event(), threading.Event()

    def slow(y: Any) -> Any:
        inside.set()
        assert done.wait(HANG)
        return f(x) + y

    traced: list[Any] = []
    thread = threading.Thread(target=lambda: traced.append(px.make_jaxpr(slow)(x)))
    thread.start()
    assert inside.wait(HANG)
    assert len(tracing) == 1
    assert direct(ways, lambda: f(x)).tolist() == [2, 2, 2]
    done.set()
    thread.join()
    assert "jit" in str(traced[0])


def test_options_that_examine_calls_keep_them_from_being_direct(ways):
    f = px.jit(lambda x: x / x)
    x = pnp.ones(3)
    f(x)
    direct(ways, lambda: f(x))
    with px.debug_nans(True), pytest.raises(FloatingPointError):
        f(pnp.zeros(3))
    with px.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
        f(x)
    with px.disable_jit():
        seen = []
        px.jit(lambda x: seen.append(x))(2.0)
        assert seen == [2.0]
        assert type(seen[0]) is float
    assert direct(ways, lambda: f(x)).tolist() == [1, 1, 1]


def test_options_of_the_process_empty_what_they_change(ways):
    f = px.jit(lambda x: x / x)
    x = pnp.ones(3)
    f(x)
    px.config.update("debug_nans", True)
    try:
        assert fast_path_blockers
        with pytest.raises(FloatingPointError):
            f(pnp.zeros(3))
    finally:
        px.config.update("debug_nans", False)
    f(x)
    assert direct(ways, lambda: f(x)).tolist() == [1, 1, 1]


def in_another_thread(call: Any) -> Any:
    """The result of a call in another thread, in which an error is raised again."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(HANG)


def open_mesh() -> Any:
    return px.set_mesh(px.make_mesh((1,), ("i",)))


@pytest.mark.parametrize(
    "scope",
    [lambda: px.default_matmul_precision("highest"), lambda: px.debug_nans(True), open_mesh],
    ids=["tracing", "examining", "mesh"],
)
def test_a_scope_of_one_thread_leaves_direct_calls_to_the_others(ways, scope):
    f = px.jit(lambda x: x + 1)
    x = pnp.ones(3)
    f(x)
    with scope():
        assert by_dispatcher(ways, lambda: f(x)).tolist() == [2, 2, 2]
        assert in_another_thread(lambda: direct(ways, lambda: f(x))).tolist() == [2, 2, 2]
        fresh = px.jit(lambda x: x + 2)
        in_another_thread(lambda: fresh(x))  # is recorded there
        assert in_another_thread(lambda: direct(ways, lambda: fresh(x))).tolist() == [3, 3, 3]
        by_dispatcher(ways, lambda: fresh(x))
    assert direct(ways, lambda: f(x)).tolist() == [2, 2, 2]


def test_the_word_size_decides_what_numbers_are():
    f = px.jit(lambda x, y: x * y)
    wide = px.config.enable_x64
    y = pnp.ones((), np.int8)
    assert f(0.5, y).dtype == (np.float64 if wide else np.float32)
    px.config.update("enable_x64", not wide)
    try:
        for _ in range(2):
            assert f(0.5, y).dtype == (np.float32 if wide else np.float64)
        with px.enable_x64(wide):
            assert f(0.5, y).dtype == (np.float64 if wide else np.float32)
    finally:
        px.config.update("enable_x64", wide)
    for _ in range(2):
        assert f(0.5, y).dtype == (np.float64 if wide else np.float32)


def test_a_rule_that_is_replaced_is_seen_by_functions_that_were_direct():
    p = core.Primitive("replaced")
    p.def_abstract_eval(lambda x: x)
    px.extend.interpreters.mlir.register_lowering(p, px.extend.interpreters.mlir.lower_fun(lambda x: x + 1, False))
    f = px.jit(p.bind)
    x = pnp.zeros(2)
    assert [f(x).tolist() for _ in range(3)] == [[1, 1]] * 3
    px.extend.interpreters.mlir.register_lowering(p, px.extend.interpreters.mlir.lower_fun(lambda x: x + 2, False))
    assert [f(x).tolist() for _ in range(3)] == [[2, 2]] * 3


def test_clear_cache_and_clear_caches_forget_direct_calls(ways):
    add = [1.0]
    f = px.jit(lambda x: x + add[0])
    g = px.jit(f)
    x = pnp.zeros(())
    for clear in (lambda: (f.clear_cache(), g.clear_cache()), px.clear_caches):
        for h in (f, g):
            assert [float(h(x)) for _ in range(3)] == [add[0]] * 3
        add[0] += 1
        clear()
    assert float(f(x)) == float(g(x)) == add[0]


def test_programs_end_with_their_function():
    class Big:
        pass

    big = Big()
    f = px.jit(lambda x, big=big: x + 1)
    f(pnp.ones(3))
    f(pnp.ones(3))
    gone = weakref.ref(big)
    del f, big
    gc.collect()
    assert gone() is None


def test_an_error_of_a_callback_is_raised_by_direct_calls(ways):
    def positive(x: Any) -> Any:
        if float(x) < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    f = px.jit(lambda x: px.pure_callback(positive, px.ShapeDtypeStruct((), np.float32), x))
    four, nine, negative = (pnp.float32(x) for x in (4, 9, -1))
    f(four)
    assert float(direct(ways, lambda: f(nine))) == 3
    with pytest.raises(px.errors.JaxRuntimeError, match="negative"):
        f(negative).block_until_ready()
    assert float(direct(ways, lambda: f(four))) == 2


def test_functions_of_the_library_and_primitives_are_direct(ways):
    x = pnp.arange(4.0)
    for call in (lambda: lax.sin_p.bind(x), lambda: x + x, lambda: x * 2.5, lambda: 2.5 - x, lambda: pnp.cosh(x)):
        expected = call()
        np.testing.assert_array_equal(call(), expected)
    for _ in range(3):
        assert pnp.mean(pnp.ones((2, 3)), axis=0).shape == (3,)
        assert pnp.mean(pnp.ones((2, 3)), axis=1).shape == (2,)
        assert pnp.mean(pnp.ones((2, 3)), 0, keepdims=True).shape == (1, 3)
        assert pnp.mean(pnp.ones((2, 3))).shape == ()


def test_functions_that_are_examined_in_vain_are_left_to_the_dispatcher(monkeypatch, ways):
    monkeypatch.setattr("primax.interpreters.runtime.fast_dispatch._MOST_FAILED_SEARCHES", 3)
    f = px.jit(lambda x: x + 1)
    x = np.ones(3, np.float32)
    for _ in range(5):
        f(x)
    y = pnp.ones(3, np.float32)
    f(y)
    assert direct(ways, lambda: f(y)).tolist() == [2, 2, 2]
    for _ in range(5):
        f(x)
    assert by_dispatcher(ways, lambda: f(y)).tolist() == [2, 2, 2]


def test_threads_call_one_function(ways):
    f = px.jit(lambda x, y: x * y)
    errors: list[Any] = []

    def work(seed: int) -> None:
        try:
            for i in range(200):
                shape = (1 + (seed + i) % 5,)
                x = pnp.full(shape, float(seed))
                assert f(x, float(i)).tolist() == [float(seed * i)] * shape[0]
                assert f(x, x).tolist() == [float(seed * seed)] * shape[0]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
