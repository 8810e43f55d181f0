"""Caches belong to an owner, are bounded, and are emptied when rules change."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import primax as px
from primax import lax
from primax import numpy as pnp
from primax.core.cache import Cache, epoch
from primax.extend import core, derive
from primax.extend.core import Primitive
from primax.extend.provisional import programs

X = np.float32(3.0)


def test_a_result_is_made_once():
    cache, made = Cache(8), []
    for _ in range(3):
        assert cache.get_or_make("key", lambda: made.append(1) or "result") == "result"
    assert made == [1]


def test_it_holds_what_was_asked_for_last():
    cache = Cache(8)
    for i in range(100):
        cache.put(i, str(i))
        assert cache.find(0 if i else i) == "0"
        assert cache.held() <= 8
    assert cache.find(99) == "99"
    assert cache.find(1) is None


def test_a_new_epoch_empties_all_caches():
    filled = [Cache(8) for _ in range(3)]
    for cache in filled:
        for i in range(7):
            cache.put(i, i)
    epoch.bump()
    assert [cache.held() for cache in filled] == [0, 0, 0]
    filled[0].put(1, 1)
    epoch.bump()
    assert filled[0].held() == 0


def test_what_is_made_across_a_new_epoch_is_not_kept():
    cache = Cache(8)
    assert cache.get_or_make("key", lambda: epoch.bump() or "old") == "old"
    assert cache.get_or_make("key", lambda: "new") == "new"


def test_threads_that_fill_a_cache_while_epochs_end_leave_nothing_of_before():
    caches = [Cache(16) for _ in range(4)]
    done = threading.Event()
    wrong = []

    def fill():
        while not done.is_set():
            for cache in caches:
                for key in range(12):
                    begun = epoch.value
                    made = cache.get_or_make(key, lambda: (epoch.value,))
                    if made[0] < begun:
                        wrong.append((made, begun))

    threads = [threading.Thread(target=fill) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        epoch.bump()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    epoch.bump()
    assert [cache.held() for cache in caches] == [0] * 4


def test_a_key_without_hash_raises():
    with pytest.raises(TypeError, match="unhashable"):
        Cache(8).get_or_make([], list)


def scaled(name: str) -> Primitive:
    """Scales by a Python scalar, so that the type of the result of an int depends on the word size."""
    return px.extend.define_primitive(
        name, impl=lambda x: pnp.asarray(x) * 1.5, abstract_eval=derive.from_impl, lowering=derive.from_impl
    )


@pytest.mark.parametrize("first", [False, True])
def test_derived_types_follow_the_word_size(first):
    p = scaled(f"scaled_{first}")
    for wide in (first, not first, first):
        with px.enable_x64(wide):
            (out,) = px.make_jaxpr(p.bind)(3).out_avals
            assert out.dtype == (np.float64 if wide else np.float32)
            assert px.jit(p.bind)(3).dtype == out.dtype


def test_the_order_of_parameters_makes_no_second_program():
    p = Primitive("ordered")
    p.def_abstract_eval(lambda x, a, b: x)
    lowered = []
    px.extend.interpreters.mlir.register_lowering(p, lambda ctx, x, a, b: lowered.append((a, b)) or [x])
    p.bind(X, a=1, b=2)
    p.bind(X, b=2, a=1)
    assert lowered == [(1, 2)]
    p.bind(X, a=2, b=1)
    assert lowered == [(1, 2), (2, 1)]


def test_an_eager_operation_is_compiled_once_with_and_without_a_transformation_around_it():
    p = Primitive("negated")
    p.def_abstract_eval(lambda x: x)
    compiled = []

    def lower(ctx, x):
        compiled.append(x)
        return px.extend.interpreters.mlir.hlo.NegOp(x).results

    px.extend.interpreters.mlir.register_lowering(p, lower)
    px.extend.interpreters.ad.deflinear(p, lambda ct: [-ct])
    x = pnp.arange(3.0)
    p.bind(x)
    px.grad(lambda x: p.bind(x).sum())(x)
    px.vmap(lambda y: p.bind(x) + y)(x)
    px.jvp(lambda y: p.bind(x) * y, (x,), (x,))
    assert len(compiled) == 1


def test_a_function_keeps_a_bounded_number_of_programs():
    def f(x, n):
        return x

    jitted = px.jit(f, static_argnums=1)
    for n in range(1500):
        jitted.trace(X, n)
    assert programs.programs_of(f).held() <= 1024


def live(kind: type) -> int:
    gc.collect()
    return sum(type(x) is kind for x in gc.get_objects())


def test_fresh_functions_leave_no_programs_behind():
    def step(x):
        branch = lax.cond(True, lambda x: x + 1.0, lambda x: x - 1.0, x)
        carry, _ = lax.scan(lambda c, _: (c + x, None), branch, None, length=2)
        return lax.fori_loop(0, 2, lambda i, c: c * x, carry)

    def use():
        px.make_jaxpr(px.grad(step))(2.0)
        px.make_jaxpr(px.vmap(step))(np.ones(2, np.float32))

    use(), use()
    before = live(core.ClosedJaxpr)
    for _ in range(5):
        use()
    assert live(core.ClosedJaxpr) <= before + 5


def test_a_program_that_closed_over_a_tracer_ends_with_its_transformation():
    kept = []

    def outer(x):
        def inner(y):
            return x * y

        kept.append(inner)
        return px.jit(inner)(2.0) + px.jit(inner)(2.0)

    px.make_jaxpr(outer)(X)
    assert programs.programs_of(kept[0]).held() == 0
    assert float(px.grad(outer)(X)) == 4.0
    assert programs.programs_of(kept[1]).held() == 0


def test_caches_end_with_what_they_belong_to():
    closed = px.make_jaxpr(px.jit(lambda x: x * 2.0))(X)
    core.jaxpr_as_fun(closed)(X)
    cache = weakref.ref(closed.eqns[0].params["jaxpr"].cache)
    held = cache().held()
    del closed
    gc.collect()
    gc.collect()  # jaxlib lets go of a dispatched function in the second round
    assert held
    assert cache() is None


def test_clear_caches_forgets_types_programs_and_compiled_programs():
    p = scaled("forgotten")
    px.jit(p.bind)(3)
    p.bind(3)
    assert p.types.held()
    px.clear_caches()
    assert not p.types.held()
    assert not p.programs.held()
