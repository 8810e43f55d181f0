"""`debug_key_reuse`: keys that are used twice are refused, wherever that is, with the lines of both uses."""

import inspect
import re

import pytest

import primax as px
import primax.numpy as pnp
from primax import lax, random
from primax.extend import define_primitive, derive


def twice_of_one(k):
    keys = random.split(k)
    return random.uniform(keys[0]) + random.uniform(keys[0])


def a_part_and_the_whole(k):
    keys = random.split(k, 3)
    return px.vmap(random.uniform)(keys), random.uniform(keys[1])


def both(k):
    return random.uniform(k) + random.normal(k)


REFUSED = {
    "eager": both,
    "two kinds": lambda k: (random.split(k), random.gamma(k, 2.0)),
    "in a compiled function": lambda k: px.jit(both)(k),
    "compiled functions": lambda k: (px.jit(random.uniform)(k), px.jit(random.uniform)(k)),
    "closed over": lambda k: (px.jit(lambda: random.uniform(k))(), px.jit(lambda: random.uniform(k))()),
    "a part twice": twice_of_one,
    "a part twice, compiled": px.jit(twice_of_one),
    "a part and the whole": a_part_and_the_whole,
    "reshaped": lambda k: (random.uniform(k), random.uniform(k.reshape(1)[0])),
    "vmap": lambda k: (random.uniform(k), px.vmap(random.uniform)(k.reshape(1))),
    "a loop's constant": lambda k: lax.scan(lambda c, _: (c + random.uniform(k), None), 0.0, None, length=3),
    "a loop's carry": lambda k: lax.scan(lambda c, _: (c, random.uniform(c)), k, None, length=3),
    "a loop's test": lambda k: lax.while_loop(lambda c: random.uniform(k) < -1.0, lambda c: c + 1, 0),
    "a branch, and after it": lambda k: (lax.cond(True, lambda: random.uniform(k), lambda: 0.0), random.uniform(k)),
}

ALLOWED = {
    "folded": lambda k: (random.fold_in(k, 1), random.fold_in(k, 1), random.uniform(k)),
    "cloned": lambda k: (random.uniform(k), random.uniform(random.clone(k)), random.uniform(random.clone(k))),
    "read": lambda k: (random.uniform(k), random.key_data(k)),
    "parts": lambda k: [random.uniform(x) for x in random.split(k, 3)],
    "parts, compiled": px.jit(lambda k: [random.uniform(x) for x in random.split(k, 3)]),
    "a loop's rows": lambda k: lax.scan(lambda c, x: (c + random.uniform(x), None), 0.0, random.split(k, 3)),
    "a loop that splits": lambda k: lax.scan(lambda c, _: (random.split(c)[0], None), k, None, length=3),
    "a loop of one step": lambda k: lax.scan(lambda c, _: (c + random.uniform(k), None), 0.0, None, length=1),
    "branches": lambda k: lax.cond(True, lambda: random.uniform(k), lambda: random.normal(k)),
    "not mapped": lambda k: px.vmap(lambda x: x + random.uniform(k))(pnp.ones(3)),
    "a gradient": lambda k: px.grad(lambda x: x * random.uniform(k))(1.0),
    "returned": lambda k: px.jit(lambda k: (random.uniform(k), k))(k),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_key_that_is_used_twice_is_refused(name):
    with px.debug_key_reuse(True), pytest.raises(px.errors.KeyReuseError, match="a key must be used once"):
        REFUSED[name](random.key(3))


@pytest.mark.parametrize("name", ALLOWED)
def test_what_uses_keys_once_is_left_alone(name):
    with px.debug_key_reuse(True):
        ALLOWED[name](random.key(3))


def test_the_message_names_both_lines():
    key = random.key(0)
    with px.debug_key_reuse(True):
        random.uniform(key)
        line = inspect.currentframe().f_lineno
        with pytest.raises(px.errors.KeyReuseError) as failed:
            random.normal(key)
    lines = re.findall(r"test_key_reuse\.py:(\d+)", str(failed.value))
    assert lines == [str(line + 2), str(line - 1)]


def test_nothing_is_watched_unless_the_option_is_on():
    key = random.key(1)
    first = random.uniform(key)
    with px.debug_key_reuse(True):
        assert random.uniform(key) == first
    assert random.uniform(key) == first


def test_programs_that_ran_before_are_watched_too():
    f = px.jit(both)
    f(random.key(1))
    with px.debug_key_reuse(True), pytest.raises(px.errors.KeyReuseError):
        f(random.key(2))
    f(random.key(3))


@pytest.mark.parametrize("name", ["scan", "cond", "while"])
@pytest.mark.filterwarnings("ignore:define_primitive. plugin:primax.errors.PluginWarning")
def test_primitives_of_others_with_the_names_of_control_flow_are_walked_as_any(name):
    word = define_primitive(
        name, impl=lambda k: px.random.key_data(k).sum(), abstract_eval=derive.from_impl, lowering=derive.from_impl
    )
    key = px.random.key(0)
    wanted = px.random.key_data(key).sum()
    with px.debug_key_reuse(True):
        assert px.jit(word.bind)(key) == wanted
