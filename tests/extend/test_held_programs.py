"""What rules of primitives that hold programs share."""

from __future__ import annotations

import doctest
from itertools import compress
from typing import Any

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

import primax as px
import primax.numpy as pnp
from primax.core import list_utils
from primax.extend import core, held_programs
from primax.extend.interpreters import ad
from primax.extend.interpreters import partial_eval as pe

X = np.float32([0.3, -1.2])


@for_all(st.lists(st.tuples(st.integers(), st.booleans())))
def test_merge_undoes_partition(pairs: list[tuple[int, bool]]) -> None:
    xs, flags = [x for x, _ in pairs], [flag for _, flag in pairs]
    those_false, those_true = held_programs.partition(xs, flags)
    assert those_true == list(compress(xs, flags))
    assert held_programs.merge(flags, those_false, those_true) == xs


def test_partition_refuses_flags_that_are_too_few() -> None:
    with pytest.raises(ValueError, match="shorter"):
        held_programs.partition([1, 2], [True])


@for_all(st.lists(st.integers(), max_size=9), st.lists(st.integers(0, 4), max_size=3))
def test_sections_lose_nothing(xs: list[int], counts: list[int]) -> None:
    found = held_programs.sections(xs, *counts)
    assert len(found) == len(counts) + 1
    assert [x for part in found for x in part] == xs


@for_all(st.lists(st.booleans(), min_size=1, max_size=6), st.permutations(range(6)))
def test_a_fixed_point_holds_what_it_began_with_and_does_not_widen(flags: list[bool], order: list[int]) -> None:
    def step(flags: list[bool]) -> tuple[int, list[bool]]:
        return sum(flags), [flags[order[i] % len(flags)] for i in range(len(flags))]

    result, found = held_programs.fixpoint(step, flags)
    assert result == sum(found)
    assert all(b or not a for a, b in zip(flags, found, strict=True))
    assert all(b or not a for a, b in zip(step(found)[1], found, strict=True))


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


@pytest.mark.parametrize("module", [list_utils, held_programs])
def test_the_examples_are_true(module: Any) -> None:
    tested = doctest.testmod(module)
    assert tested.attempted
    assert not tested.failed
