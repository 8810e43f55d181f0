"""Laws of control flow and of custom derivatives, for programs made at random."""

from __future__ import annotations

import functools
import random

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from fuzz.programs.smooth import NESTED, close, fill, smooth

import primax as px
import primax.numpy as pnp
from primax import lax

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]  # laws hold in double precision, whatever is set

CARRY = ((3,), (2,))
SLICE = (2,)
LENGTH = 4


def law(test):
    """Both sides of a law, compiled in one program, are equal in double precision, for a few random programs."""

    @hypothesis.settings(max_examples=3, phases=[hypothesis.Phase.generate])
    @hypothesis.given(st.integers(0, 2**32 - 1))
    def wrapped(seed):
        with px.enable_x64(True):
            left, right = px.jit(lambda *xs: test(random.Random(seed), *xs))(*map(fill, CARRY, (1, 2)))
            close(px.tree.leaves(left), px.tree.leaves(right), 1e-10)

    wrapped.__name__ = wrapped.__qualname__ = test.__name__
    return wrapped


def random_function(maker, given=CARRY, wanted=CARRY):
    """A function of arrays that returns a tuple."""
    return functools.partial(smooth(maker.getrandbits(32), NESTED["both"], 1, given, wanted, bounded=True), px)


def random_step(maker):
    """A step of a scan, of a carry of two arrays and a slice."""
    fun = random_function(maker, [*CARRY, SLICE], [*CARRY, (3,)])

    def step(carry, x):
        *carry, y = fun(*carry, x)
        return tuple(carry), y

    return step


def slices():
    return fill((LENGTH, *SLICE), 3)


def with_gradient(fun, *xs):
    """What a function gives, and the gradient of a sum that weighs all of it."""

    def total(*xs):
        return sum((w * leaf).sum() for w, leaf in enumerate(px.tree.leaves(fun(*xs)), 1))

    return fun(*xs), px.grad(total, tuple(range(len(xs))))(*xs)


@law
def test_scan_is_a_loop(maker, a, b):
    step = random_step(maker)

    def loop(a, b, xs):
        carry, ys = (a, b), []
        for x in xs:
            carry, y = step(carry, x)
            ys.append(y)
        return carry, pnp.stack(ys)

    return with_gradient(loop, a, b, slices()), with_gradient(
        lambda a, b, xs: lax.scan(step, (a, b), xs), a, b, slices()
    )


@law
def test_scan_in_reverse_is_scan_of_what_is_flipped(maker, a, b):
    step = random_step(maker)

    def flipped(a, b, xs):
        carry, ys = lax.scan(step, (a, b), pnp.flip(xs, 0))
        return carry, pnp.flip(ys, 0)

    return with_gradient(flipped, a, b, slices()), with_gradient(
        lambda a, b, xs: lax.scan(step, (a, b), xs, reverse=True), a, b, slices()
    )


@law
def test_scan_is_a_scan_after_a_scan(maker, a, b):
    step = random_step(maker)

    def parted(a, b, xs):
        carry, first = lax.scan(step, (a, b), xs[:1])
        carry, second = lax.scan(step, carry, xs[1:])
        return carry, pnp.concatenate([first, second])

    return with_gradient(parted, a, b, slices()), with_gradient(
        lambda a, b, xs: lax.scan(step, (a, b), xs), a, b, slices()
    )


@law
def test_unrolling_a_scan_changes_no_value_and_no_gradient(maker, a, b):
    step = random_step(maker)
    one, three = (
        with_gradient(lambda a, b, xs, unroll=unroll: lax.scan(step, (a, b), xs, unroll=unroll), a, b, slices())
        for unroll in (1, 3)
    )
    return one, three


@law
def test_scan_mapped_is_a_scan_of_a_mapped_step(maker, a, b):
    step = random_step(maker)
    many = pnp.stack([a, 2 * a])

    def outside(many, b, xs):
        return px.vmap(lambda a: lax.scan(step, (a, b), xs))(many)

    def inside(many, b, xs):
        both = px.vmap(step, ((0, 0), None))
        carry, ys = lax.scan(both, (many, pnp.stack([b, b])), xs)
        return carry, pnp.swapaxes(ys, 0, 1)

    return with_gradient(outside, many, b, slices()), with_gradient(inside, many, b, slices())


@law
def test_cond_mapped_over_operands_is_cond_of_mapped_branches(maker, a, b):
    first, second = random_function(maker), random_function(maker)
    many = pnp.stack([a, 2 * a])

    def outside(many, b):
        return px.vmap(lambda a: lax.cond(b[0] > 0, first, second, a, b))(many)

    def inside(many, b):
        return lax.cond(b[0] > 0, px.vmap(first, (0, None)), px.vmap(second, (0, None)), many, b)

    return with_gradient(outside, many, b), with_gradient(inside, many, b)


@law
def test_cond_mapped_over_predicates_selects(maker, a, b):
    first, second = random_function(maker), random_function(maker)
    truths = np.array([True, False, True])

    def outside(a, b):
        return px.vmap(lambda p: lax.cond(p, first, second, a, b))(truths)

    def selected(a, b):
        return [pnp.where(truths[:, None], x, y) for x, y in zip(first(a, b), second(a, b), strict=True)]

    return with_gradient(outside, a, b), with_gradient(selected, a, b)


@law
def test_branches_may_stand_in_any_order(maker, a, b):
    branches = [random_function(maker) for _ in range(3)]
    index = lax.convert_element_type(b[0] > 0, np.int32) + 1

    def moved(a, b):
        return lax.switch((index + 1) % 3, [branches[2], branches[0], branches[1]], a, b)

    return with_gradient(moved, a, b), with_gradient(lambda a, b: lax.switch(index, branches, a, b), a, b)


@law
def test_the_derivative_of_a_custom_function_is_its_rule_wherever_it_is_called(maker, a, b):
    fun, rule = random_function(maker), random_function(maker, [*CARRY, *CARRY])
    custom = px.custom_jvp(fun)

    def push(primals, tangents):
        """Linear in the tangents, as a rule must be, and nothing that derivatives of `fun` would give."""
        return fun(*primals), px.jvp(lambda *xs: rule(*primals, *xs), primals, tangents)[1]

    custom.defjvp(push)
    ts = pnp.cos(a), pnp.cos(b)
    wanted = push((a, b), ts)
    return [wanted] * 4, [
        px.jvp(custom, (a, b), ts),
        px.jvp(px.jit(custom), (a, b), ts),
        px.jvp(lambda a, b: lax.scan(lambda c, _: (custom(*c), None), (a, b), length=1)[0], (a, b), ts),
        px.tree.map(lambda x: x[0], px.jvp(px.vmap(custom), (a[None], b[None]), tuple(t[None] for t in ts))),
    ]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32])
def test_switch_takes_the_nearest_branch(dtype):
    count = 3
    branches = [functools.partial(lambda k, x: x + k, k) for k in range(count)]
    limits = np.iinfo(dtype)
    indices = np.array([limits.min, 0, 1, count - 1, count, limits.max], dtype)
    want = np.clip(indices.astype(np.int64), 0, count - 1)
    assert px.jit(px.vmap(lambda i: lax.switch(i, branches, 0)))(indices).tolist() == want.tolist()
    chosen = px.jit(lambda i: lax.switch(i, branches, 0))
    assert [int(chosen(i)) for i in indices] == want.tolist()
