"""Passes over programs before they are lowered."""

import primax as px
from primax.extend import core
from primax.extend.effects import Effect, register_effect
from primax.extend.provisional.references import register_program_pass, rewritten
from primax.interpreters import passes


class Marked(Effect):
    pass


register_effect(Marked, control_flow=True)
marked = Marked()


def test_a_pass_rewrites_the_programs_to_which_it_applies_once(monkeypatch):
    monkeypatch.setattr(passes, "_passes", {})
    mark_p = core.Primitive("mark")
    mark_p.def_effectful_abstract_eval(lambda x: (x, {marked}))
    program = px.make_jaxpr(lambda x: mark_p.bind(x) + 1.0)(2.0)
    plain = px.make_jaxpr(lambda x: x + 1.0)(2.0)
    seen = []

    def without_marks(closed):
        seen.append(closed)
        return plain

    register_program_pass("unmark", lambda closed: marked in closed.effects, without_marks)
    assert rewritten(plain) is plain
    assert rewritten(program) is plain
    assert rewritten(program) is plain
    assert seen == [program]
    assert float(px.jit(lambda x: mark_p.bind(x) + 1.0)(2.0)) == 3.0
