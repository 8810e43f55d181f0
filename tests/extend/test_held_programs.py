"""What rules of primitives that hold programs share."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import core, held_programs
from primax.extend.interpreters import ad
from primax.extend.interpreters import partial_eval as pe

X = np.float32([0.3, -1.2])


def test_cotangents_are_zeros_where_none_was_computed() -> None:
    aval = core.ShapedArray((), np.float32)
    args = [1.0, ad.UndefinedPrimal(aval), ad.UndefinedPrimal(aval)]
    found = held_programs.cotangents(args, [False, True], ["ct"])
    assert found[0] is None
    assert type(found[1]) is ad.Zero
    assert found[2] == "ct"
    assert held_programs.linear_flags(args) == [False, True, True]
    assert held_programs.given(args) == [1.0]


def test_a_program_of_which_all_is_used_is_trimmed_to_itself() -> None:
    closed = px.make_jaxpr(lambda x, y: (pnp.sin(x), x * y))(X, X)
    assert held_programs.trimmed(closed, [True, True]) == (closed, [True, True])
    less, used = held_programs.trimmed(closed, [True, False])
    assert (used, len(less.eqns), len(less.in_avals)) == ([True, False], 1, 1)
    kept, _ = held_programs.trimmed(closed, [True, False], [True, True])
    assert len(kept.in_avals) == 2
    assert held_programs.trimmed(closed, [True, False])[0] is less


def test_both_halves_of_an_equation_compute_what_it_does() -> None:
    closed = px.make_jaxpr(px.jit(lambda x, y: (pnp.sin(x), pnp.cos(x) * y)))(X, X)
    (eqn,) = closed.eqns
    split = pe.partial_eval_jaxpr(eqn.params["jaxpr"], [False, True])
    halves = held_programs.SplitEquation(eqn, [False, True], split.unknown_out, split.known.out_avals[1:])
    params = {**eqn.params, "donated_invars": (False,)}
    known = halves.known({**params, "jaxpr": split.known}, split.known.effects)
    operands = [*(halves.available[i] for i in split.residuals), *halves.unknown_in]
    rest = halves.rest(operands, {**eqn.params, "jaxpr": split.unknown}, split.unknown.effects)
    assert known is not None
    assert rest is not None
    both = closed.jaxpr.replace(eqns=[known, rest])
    core.check_jaxpr(both)
    for found, wanted in zip(core.eval_jaxpr(both, [], X, X), (np.sin(X), np.cos(X) * X), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_half_that_is_nothing_is_none() -> None:
    (eqn,) = px.make_jaxpr(px.jit(pnp.sin))(X).eqns
    nothing_known: Any = held_programs.SplitEquation(eqn, [True], [True], ())
    assert nothing_known.known(eqn.params, core.no_effects) is None
    all_known: Any = held_programs.SplitEquation(eqn, [False], [False], ())
    assert all_known.rest([], eqn.params, core.no_effects) is None


def test_a_program_without_effects_computes_the_same_and_keeps_what_it_needs() -> None:
    def f(x: Any, y: Any) -> Any:
        px.debug.print("{}", x)
        px.io_callback(np.sin, px.ShapeDtypeStruct((2,), "float32"), y)
        needed = px.io_callback(np.sin, px.ShapeDtypeStruct((2,), "float32"), x)
        inner = px.jit(lambda x: (px.debug.print("{}", x), px.lax.map(lambda e: (px.debug.print("e"), 2 * e)[1], x))[1])
        return needed + inner(x), y

    closed = px.make_jaxpr(f)(X, X)
    pure = held_programs.without_effects(closed)
    core.check_jaxpr(pure.jaxpr)
    assert [eqn.primitive.name for eqn in pure.eqns] == ["io_callback", "jit", "add"]
    assert [str(effect) for effect in pure.effects] == ["IO"]
    assert "debug_callback" not in str(pure)
    np.testing.assert_allclose(core.eval_jaxpr(pure.jaxpr, pure.consts, X, X)[0], np.sin(X) + 2 * X, rtol=1e-6)
    assert held_programs.without_effects(closed) is pure
    assert held_programs.without_effects(quiet := px.make_jaxpr(pnp.sin)(X)) is quiet


def test_effects_of_what_is_unknown_stay() -> None:
    closed = px.make_jaxpr(lambda x, y: (px.debug.print("x {}", x), px.debug.print("y {}", y), x * y)[2])(X, X)
    once = held_programs.without_effects(closed, [False, True])
    assert [str(eqn.params["callback"]) for eqn in once.eqns if eqn.effects] == ["print('y {}')"]
    np.testing.assert_allclose(core.eval_jaxpr(once.jaxpr, once.consts, X, X)[0], X * X)


def test_the_examples_are_true() -> None:
    tested = doctest.testmod(held_programs, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert tested.attempted
    assert not tested.failed
