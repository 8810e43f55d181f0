"""Programs on values of a user's type: some agree with tuples of arrays, and a difference is found."""

from __future__ import annotations

import random
from itertools import islice

import pair_type

from fuzz.user_types import Maker, UserTypes


def test_programs_have_all_transformations():
    text = " ".join(Maker(random.Random(seed)).program() for seed in range(100))
    for (
        name
    ) in "px.jit px.grad px.jvp px.vjp px.linearize px.vmap px.checkpoint lax.scan lax.cond lax.fori_loop".split():
        assert f"{name}(" in text


def test_programs_agree_with_tuples_of_arrays():
    kind = UserTypes()
    assert [kind.run(case) for case in islice(kind.cases(random.Random(5), ""), 4)] == [None] * 4


def test_a_difference_is_found(monkeypatch):
    kind = UserTypes()
    monkeypatch.setattr(pair_type.OfTuples, "flip", staticmethod(lambda x: x))
    cases = (case for case in kind.cases(random.Random(1), "") if "T.flip" in case.program and len(case.program) < 500)
    found = [kind.run(case) for case in islice(cases, 4)]
    assert "value" in [finding.sort for finding in found if finding]
