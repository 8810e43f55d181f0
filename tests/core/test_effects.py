"""Effects: known by class, unordered unless said otherwise, and part of what a program is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import primax as px
from primax.core.effects import Effect, effect_kinds, kind_of, no_effects, ordered_effects, register_effect
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")


@dataclass(frozen=True)
class Said(Effect):
    what: str


@dataclass(frozen=True)
class Louder(Said):
    pass


@dataclass(frozen=True)
class Unheard(Effect):
    pass


register_effect(Said, ordered=True, control_flow=True)


def test_a_class_of_effects_is_registered_with_what_is_allowed_of_it():
    kind = kind_of(Said("hello"))
    assert (kind.ordered, kind.control_flow, kind.custom_derivatives) == (True, True, False)


def test_a_subclass_is_what_its_base_is_until_it_is_registered_itself():
    assert kind_of(Louder("hello")).ordered
    register_effect(Louder)
    try:
        assert not kind_of(Louder("hello")).ordered
    finally:
        del effect_kinds[Louder]


def test_an_effect_of_an_unknown_class_is_refused_with_what_to_call():
    with pytest.raises(TypeError, match=r"call register_effect\(Unheard, ...\)"):
        kind_of(Unheard())


@pytest.mark.parametrize("kind", [int, "Said", Said("hello"), None])
def test_what_is_not_a_class_of_effects_is_refused(kind):
    with pytest.raises(TypeError, match="register_effect: kind must be a subclass of Effect"):
        register_effect(kind)


def test_ordered_effects_come_in_an_order_that_depends_on_them_alone():
    effects = frozenset([Said("b"), Said("a"), Said("c")])
    assert ordered_effects(effects) == [Said("a"), Said("b"), Said("c")]
    assert ordered_effects(no_effects) == []


def test_register_effect_is_usable_as_a_decorator():
    @register_effect
    class Decorated(Effect):
        pass

    assert not kind_of(Decorated()).ordered
    del effect_kinds[Decorated]


def said(what):
    p = core.Primitive(f"say_{what}", multiple_results=True)
    p.def_effectful_abstract_eval(lambda *avals: (list(avals), {Said(what)}))
    p.def_impl(lambda *args: list(args))
    return p


def test_equations_and_programs_have_the_effects_of_their_primitives():
    a, b = said("a"), said("b")

    def f(x):
        (x,) = a.bind(x)
        return b.bind(px.jit(lambda y: a.bind(y))(x)[0])

    closed = px.make_jaxpr(f)(np.float32(1.0))
    assert [eqn.effects for eqn in closed.eqns] == [{Said("a")}, {Said("a")}, {Said("b")}]
    assert closed.effects == {Said("a"), Said("b")}
    core.check_jaxpr(closed)


def test_an_equation_with_effects_is_never_dead():
    a = said("a")

    def f(x):
        a.bind(x)
        px.jit(lambda y: a.bind(y))(x)
        return x * 2.0

    closed = px.make_jaxpr(f)(np.float32(1.0))
    trimmed, _ = core.dce_jaxpr(closed.jaxpr, [False])
    assert [eqn.primitive.name for eqn in trimmed.eqns] == ["say_a", "jit"]
    assert trimmed.effects == {Said("a")}
