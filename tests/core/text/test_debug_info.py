"""What programs tell of the functions that they were traced from."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref

import pytest

import primax as px
from primax.extend import core

pytestmark = pytest.mark.any_word_size


class Model:
    def __call__(self, x, y=1.0):
        return x + y

    def method(self, x, *rest):
        return [x, *rest]


def of_all_kinds(x, /, y, *a, z, **k):
    return {"a": x["b"] + y, "c": a}


model = Model()
CALLS = [
    (lambda x: x, (1.0,), {}, ()),
    (lambda x, y: (x, [y]), ({"a": 1.0}, [2.0, (3.0,)]), {}, ()),
    (of_all_kinds, ({"b": 1.0}, 2.0, 3.0, (4.0,)), {"z": 5.0, "u": 6.0}, ()),
    (lambda x, n, y: x * n + y, (1.0, 2, 3.0), {}, (1,)),
    (lambda *xs: xs[0], (1.0, 2.0), {}, ()),
    (lambda: 1.0, (), {}, ()),
    (model.method, (1.0, 2.0), {}, ()),
    (functools.wraps(of_all_kinds)(lambda x, y, *, z: of_all_kinds(x, y, z=z)), ({"b": 1.0}, 2.0), {"z": 5.0}, ()),
]


@pytest.mark.parametrize("fun, args, kwargs, static", CALLS)
@pytest.mark.parametrize("how", ["jit", "make_jaxpr"])
def test_a_program_knows_its_function_as_in_jax(fun, args, kwargs, static, how):
    def info(lib):
        if how == "make_jaxpr":
            return lib.make_jaxpr(fun, static_argnums=static)(*args, **kwargs).jaxpr.debug_info
        return lib.jit(fun, static_argnums=static).trace(*args, **kwargs).jaxpr.debug_info

    jax = pytest.importorskip("jax")
    ours, theirs = info(px), info(jax)
    assert ours.func_name == theirs.func_name
    assert ours.func_src_info == theirs.func_src_info
    assert ours.arg_names == theirs.arg_names
    assert ours.result_paths == theirs.result_paths


def test_the_information_is_a_string_and_can_be_copied():
    info = px.make_jaxpr(of_all_kinds)({"b": 1.0}, 2.0, z=3.0).debug_info
    assert info == "of_all_kinds"
    assert str(info) == "of_all_kinds"
    assert info.traced_for == "make_jaxpr"
    assert repr(info) == f"DebugInfo({info.func_src_info}, traced for make_jaxpr)"
    for other in (pickle.loads(pickle.dumps(info)), copy.deepcopy(info)):
        assert (other, other.arg_names, other.result_paths) == (info, ("x['b']", "y", "z"), ("result['a']",))


def test_programs_made_from_others_or_by_hand_have_such_information_too():
    closed = px.make_jaxpr(px.vmap(px.jit(Model())))(px.numpy.ones(3))
    inner = closed.eqns[0].params["jaxpr"]
    assert inner.debug_info == "Model"
    made = core.Jaxpr([], [], [], [], debug_info="by hand")
    assert made.debug_info.func_src_info == "by hand"
    assert (made.debug_info.arg_names, made.debug_info.result_paths) == (None, None)
    assert core.Jaxpr([], [], [], []).debug_info is None


def test_the_information_keeps_no_function_alive():
    def passing():
        def second(x, y):
            return y

        return second

    fun = passing()
    reference = weakref.ref(fun)
    info = px.make_jaxpr(fun)(1.0, 2.0).debug_info
    del fun
    gc.collect()
    assert reference() is None
    assert info.arg_names == ("x", "y")
