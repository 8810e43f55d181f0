"""`debug_key_reuse`: keys that are used twice are refused, wherever that is, with the lines of both uses."""

import inspect
import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax, random
from primax.extend import define_primitive, derive

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]


def twice_of_one(k):
    keys = random.split(k)
    return random.uniform(keys[0]) + random.uniform(keys[0])


def a_part_and_the_whole(k):
    keys = random.split(k, 3)
    return px.vmap(random.uniform)(keys), random.uniform(keys[1])


def at(i, j, size=3):
    """Two parts of an array of keys, read one after the other outside of programs."""

    def use(k):
        keys = random.split(k, size)
        return random.uniform(keys[i]), random.uniform(keys[j])

    return use


def called_at(i, j):
    """Two parts at positions that a compiled function is given."""

    def use(k):
        keys = random.split(k, 3)
        f = px.jit(lambda keys, i: random.uniform(keys[i]))
        return f(keys, i), f(keys, j)

    return use


def twice_at(i, j):
    """Two parts at positions that a program computes."""

    def use(k):
        keys = random.split(k, 4)
        f = px.jit(lambda keys, n: random.uniform(keys[i * n]) + random.uniform(keys[j * n]))
        return f(keys, 1)

    return use


def rows_and_a_row(k):
    keys = random.split(k, 3)
    return lax.scan(lambda c, x: (c + random.uniform(x), None), 0.0, keys), random.uniform(keys[2])


def both(k):
    return random.uniform(k) + random.normal(k)


def joined(join, read):
    """A key that is twice among keys one after the other."""

    def use(k):
        keys = join([k, random.split(random.clone(k))[0], k])
        return read(keys)

    return use


def rows(keys):
    return pnp.concatenate([key[None] for key in keys])


def drawn_and_joined(k):
    first, second = random.split(k)
    return px.vmap(random.uniform)(pnp.stack([first, second])), random.uniform(second)


def each_once(k):
    first, second = random.split(k)
    keys = pnp.stack([first, second, random.fold_in(random.clone(k), 1)])
    draw = px.jit(lambda keys: lax.cond(True, lambda x: random.uniform(x[0]), lambda x: random.normal(x[0]), keys))
    return draw(keys), random.uniform(keys[1]), random.uniform(keys[2])


REFUSED = {
    "all of keys that are stacked": joined(pnp.stack, px.vmap(random.uniform)),
    "all of keys that are concatenated": joined(rows, px.vmap(random.uniform)),
    "rows of keys that are stacked": joined(pnp.stack, lambda keys: (random.uniform(keys[0]), random.uniform(keys[2]))),
    "rows of keys in a loop": joined(pnp.stack, lambda keys: lax.map(random.uniform, keys)),
    "a key and those it is stacked with": drawn_and_joined,
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
    "one position twice": at(1, 1),
    "one position from either end": at(-1, 2),
    "one position, given twice": called_at(2, 2),
    "one position, computed twice": twice_at(3, 3),
    "rows of a loop, and one of them": rows_and_a_row,
    "a position in a loop that is the same": lambda k: lax.fori_loop(
        0, 3, lambda i, c: c + random.uniform(random.clone(k).reshape(1)[0]) + random.uniform(k.reshape(1)[0]), 0.0
    ),
    "a branch, and after it": lambda k: (lax.cond(True, lambda: random.uniform(k), lambda: 0.0), random.uniform(k)),
}

ALLOWED = {
    "keys that are stacked": each_once,
    "a row of keys that are stacked": joined(pnp.stack, lambda keys: random.uniform(keys[2])),
    "two rows of keys that are stacked": joined(
        pnp.stack, lambda keys: random.uniform(keys[1]) + random.uniform(keys[2])
    ),
    "folded": lambda k: (random.fold_in(k, 1), random.fold_in(k, 1), random.uniform(k)),
    "cloned": lambda k: (random.uniform(k), random.uniform(random.clone(k)), random.uniform(random.clone(k))),
    "read": lambda k: (random.uniform(k), random.key_data(k)),
    "parts": lambda k: [random.uniform(x) for x in random.split(k, 3)],
    "parts, compiled": px.jit(lambda k: [random.uniform(x) for x in random.split(k, 3)]),
    "a loop's rows": lambda k: lax.scan(lambda c, x: (c + random.uniform(x), None), 0.0, random.split(k, 3)),
    "a loop that splits": lambda k: lax.scan(lambda c, _: (random.split(c)[0], None), k, None, length=3),
    "a loop of one step": lambda k: lax.scan(lambda c, _: (c + random.uniform(k), None), 0.0, None, length=1),
    "positions": at(0, 1),
    "positions, from the end": at(-1, 0),
    "positions in two axes": at((0, 0), (1, 0), (2, 2)),
    "positions, given": called_at(0, 1),
    "positions, computed": twice_at(2, 3),
    "positions in a loop": lambda k: lax.fori_loop(
        0, 3, lambda i, c: c + random.uniform(random.split(random.clone(k), 3)[i]), 0.0
    ),
    "branches": lambda k: lax.cond(True, lambda: random.uniform(k), lambda: random.normal(k)),
    "not mapped": lambda k: px.vmap(lambda x: x + random.uniform(k))(pnp.ones(3)),
    "a gradient": lambda k: px.grad(lambda x: x * random.uniform(k))(1.0),
    "returned": lambda k: px.jit(lambda k: (random.uniform(k), k))(k),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_key_that_is_used_twice_is_refused(name):
    with px.debug_key_reuse(True), pytest.raises(px.errors.KeyReuseError, match="a key must be used only once"):
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
@pytest.mark.filterwarnings("ignore:define_primitive. name should be new:primax.errors.PluginWarning")
def test_primitives_of_others_with_the_names_of_control_flow_are_walked_as_any(name):
    word = define_primitive(
        name, impl=lambda k: px.random.key_data(k).sum(), abstract_eval=derive.from_impl, lowering=derive.from_impl
    )
    key = px.random.key(0)
    wanted = px.random.key_data(key).sum()
    with px.debug_key_reuse(True):
        assert px.jit(word.bind)(key) == wanted


DISTRIBUTIONS = {
    "ball": (3,),
    "bernoulli": (),
    "beta": (2.0, 3.0),
    "binomial": (20.0, 0.5),
    "categorical": (np.ones(3),),
    "cauchy": (),
    "chisquare": (3.0,),
    "choice": (5, (3,), False, np.ones(5) / 5),
    "dirichlet": (np.ones(3),),
    "double_sided_maxwell": (0.0, 1.0),
    "exponential": (),
    "f": (2.0, 3.0),
    "gamma": (2.0,),
    "generalized_normal": (2.0, (3,)),
    "geometric": (0.3,),
    "gumbel": (),
    "laplace": (),
    "loggamma": (2.0,),
    "logistic": (),
    "lognormal": (),
    "maxwell": (),
    "multinomial": (9.0, np.ones(3) / 3),
    "multivariate_normal": (np.zeros(2), np.eye(2)),
    "normal": (),
    "orthogonal": (3,),
    "pareto": (2.0,),
    "permutation": (5,),
    "poisson": (3.0,),
    "rademacher": ((3,),),
    "randint": ((3,), 0, 9),
    "rayleigh": (1.0,),
    "t": (3.0,),
    "triangular": (0.0, 0.5, 1.0),
    "truncated_normal": (-1.0, 1.0),
    "uniform": (),
    "wald": (1.0,),
    "weibull_min": (1.0, 2.0),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_use_their_key_once(name):
    """It may be more than once where one of several draws counts, which is said."""
    draw = getattr(random, name)
    with px.debug_key_reuse(True):
        draw(random.key(0), *DISTRIBUTIONS[name])


@pytest.mark.parametrize("name", ["choice", "permutation", "triangular"])
def test_distributions_in_programs_use_their_key_once(name):
    with px.debug_key_reuse(True):
        px.jit(lambda k: getattr(random, name)(k, *DISTRIBUTIONS[name]))(random.key(0))


def test_elements_that_end_a_loop_apart_use_their_keys_once():
    with px.debug_key_reuse(True):
        px.vmap(lambda k: random.poisson(k, 3.0))(random.split(random.key(0), 2))


@pytest.mark.filterwarnings("ignore:define_primitive. name should be new:primax.errors.PluginWarning")
def test_a_primitive_of_a_third_party_may_consume_keys():
    def draw(rule):
        drawn = define_primitive(
            "drawn",
            impl=lambda k: px.random.key_data(k).sum(),
            abstract_eval=derive.from_impl,
            lowering=derive.from_impl,
            key_use=rule,
        )
        key = px.random.key(0)
        with px.debug_key_reuse(True):
            return px.jit(lambda key: drawn.bind(key) + drawn.bind(key))(key)

    assert draw(lambda uses, eqn, walk: walk.new()) >= 0
    with pytest.raises(px.errors.KeyReuseError, match="a key must be used only once"):
        draw(lambda uses, eqn, walk: walk.consumed())


def test_an_executable_that_was_compiled_before_is_watched():
    run = px.jit(both).lower(random.key(0)).compile()
    with px.debug_key_reuse(True), pytest.raises(px.errors.KeyReuseError):
        run(random.key(0))
