"""Programs with references: what NumPy computes for one, and how a difference is found and shrunk."""

from __future__ import annotations

import random

import primax as px
from fuzz import references
from fuzz.in_place import MODULES
from fuzz.references import Block, Maker, References, run_text, shrunk, source, text_of

PROGRAM = (
    "a = px.new_ref(pnp.zeros(3))",
    "b = px.new_ref(pnp.ones((2, 3)))",
    Block("def f(i, c):", ("px.ref.addupdate(a, pnp.array([0, 0, 2]), c)", "b.at[i][1] = c", "return c * 2")),
    "c = lax.fori_loop(0, 2, f, 1.0)",
    "d = px.vmap(lambda r, x: px.ref.swap(r, 0, x))(b, pnp.array([5.0, 6.0]))",
    "result = [a[...], b[...], c, d]",
)


def test_numpy_says_what_a_program_means():
    a, b, c, d = run_text(source(PROGRAM), MODULES)
    assert (a.tolist(), c, d.tolist()) == ([6, 0, 3], 4, [1, 1])
    assert b.tolist() == [[5, 1, 1], [6, 2, 1]]
    assert References().judged(PROGRAM, False) is None


def test_a_difference_is_found_and_shrunk(monkeypatch):
    wrong = px.ref.addupdate
    monkeypatch.setattr(px.ref, "addupdate", lambda ref, index, x: wrong(ref, index, x * 1.5))
    kind = References()
    assert kind.judged(PROGRAM, False)[0] == "value"
    smaller = shrunk(PROGRAM, lambda parts: (kind.judged(parts, False) or ("",))[0] == "value")
    assert len(source(smaller).splitlines()) < len(source(PROGRAM).splitlines())
    assert "addupdate" in source(smaller)


def test_programs_are_made_of_all_statements():
    text = "\n".join(source(Maker(random.Random(seed)).program()) for seed in range(200))
    for name in (
        "scan",
        "cond",
        "while_loop",
        "fori_loop",
        "vmap",
        "grad",
        "jvp",
        "with_refs",
        "freeze",
        "swap",
        ".at[",
    ):
        assert name in text
    assert text_of("a") == ["a"]
    assert references.difference([], [], "jax") is None
