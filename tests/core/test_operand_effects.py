"""Effects on operands: a program has them on its constants and inputs, wherever its equations stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.core.effects import OperandEffect, effect_kinds, register_effect
from primax.extend import core
from primax.interpreters.partial_eval import partial_eval_jaxpr

pytestmark = pytest.mark.usefixtures("in_32_bits")


@dataclass(frozen=True)
class Reads(OperandEffect):
    """A stand-in for reading what an operand refers to."""


register_effect(Reads, control_flow=True, custom_derivatives=True)
read_p = core.Primitive("read_second")
read_p.def_effectful_abstract_eval(lambda x, y: (x, {Reads(1)}))

A = np.ones(3, np.float32)


def read(x, y):
    return read_p.bind(x, y)


def effects_of(fun, *args):
    jaxpr = px.make_jaxpr(fun)(*args).jaxpr
    core.check_jaxpr(jaxpr)
    return sorted(effect.operand for effect in jaxpr.effects)


def test_a_program_has_effects_at_the_places_of_its_inputs():
    assert effects_of(lambda a, b, c: read(b, c), A, A, A) == [2]
    assert effects_of(lambda a, b: (read(b, a), read(a, b)), A, A) == [0, 1]
    assert effects_of(lambda a: read(a, a), A) == [0]


def test_constants_stand_before_inputs_and_what_is_made_inside_is_nobody_elses():
    held = px.numpy.arange(3.0)
    assert effects_of(lambda a: read(a, held), A) == [0]
    assert effects_of(lambda a: (read(a, held), read(held, a)), A) == [0, 1]
    assert effects_of(lambda a: read(a, a * 2.0), A) == []


@pytest.mark.parametrize(
    "fun, places",
    [
        (lambda a, b: px.jit(lambda x, y: read(y, x))(a, b), [0]),
        (lambda a, b: px.checkpoint(lambda x: read(x, b))(a), [1]),
        (lambda a, b: lax.cond(a[0] > 0, lambda x, y: read(x, y), lambda x, y: x, a, b), [1]),
        (lambda a, b: lax.scan(lambda c, x: (read(c, b), x), a, None, length=2), [1]),
        (lambda a, b: lax.scan(lambda c, x: (c, read(c, x)), a[0], b), []),
        (lambda a, b: lax.while_loop(lambda s: read(s, a)[0] < 2, lambda s: read(s, b) + 1, b), [0, 1]),
        (lambda a, b: lax.fori_loop(0, 3, lambda i, c: read(c, a), b), [0]),
    ],
)
def test_primitives_that_hold_programs_pass_effects_on(fun, places):
    found = px.make_jaxpr(fun)(A, A)
    core.check_jaxpr(found.jaxpr)
    if places:
        assert effects_of(fun, A, A) == places
    else:
        # The elements that a scan reads are no input of the program, but the array is an operand of the scan.
        assert effects_of(fun, A, A) == [1]


def test_programs_that_are_trimmed_or_split_place_them_anew():
    closed = px.make_jaxpr(lambda a, b, c: (a * 2.0, read(b, c)))(A, A, A)
    trimmed, used = core.dce_jaxpr(closed.jaxpr, [True, True])
    assert used == [True, True, True]
    swapped = closed.jaxpr.replace(invars=closed.jaxpr.invars[::-1])
    assert [effect.operand for effect in swapped.effects] == [0]
    split = partial_eval_jaxpr(closed, [False, True, False])
    assert [effect.operand for effect in split.unknown.effects] == [0]
    core.check_jaxpr(split.unknown.jaxpr)
    assert trimmed.effects == closed.effects


def test_effects_on_operands_that_are_not_there_are_refused():
    wrong_p = core.Primitive("reads_third")
    wrong_p.def_effectful_abstract_eval(lambda x: (x, {Reads(1)}))
    with pytest.raises(core.RuleError, match=r"effects on operands from 0 to 0, got Reads\(operand=1\)"):
        px.make_jaxpr(wrong_p.bind)(A)


def test_effects_on_operands_need_no_tokens():
    class Writes(OperandEffect):
        pass

    with pytest.raises(TypeError, match="ordered must be False for Writes"):
        register_effect(Writes, ordered=True)
    assert Writes not in effect_kinds
