"""What the comparison says of jax.extend and hijax is so; its programs for primax run with the other documents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.extend import core  # noqa: E402
from jax.interpreters import ad, batching  # noqa: E402

hijax = pytest.importorskip("jax.experimental.hijax")
if not hasattr(hijax, "VJPHiPrimitive"):
    pytest.skip("hijax has other names in this release of jax than the page speaks of", allow_module_level=True)

X = np.float32([1, 2, 3])
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "comparison.md"


def _primitive(impl: Any = lambda x: 3 * x) -> Any:
    p = core.Primitive("triple")
    p.def_impl(impl)
    p.def_abstract_eval(lambda x, **params: x)
    return p


class Triple(hijax.VJPHiPrimitive):  # type: ignore[misc, name-defined]
    def __init__(self, aval: Any, **params: Any) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, params
        super().__init__()

    def expand(self, x: Any) -> Any:
        return 3 * x


class Cut(Triple):
    def expand(self, x: Any) -> Any:
        return x[:1]

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return 3 * primals[0], tangents[0][:1]

    def vjp_fwd(self, nonzeros: Any, x: Any) -> Any:
        return 3 * x, None

    def vjp_bwd_retval(self, residuals: Any, ct: Any) -> Any:
        return (ct[:1],)


def _apply(kind: Any, **params: Any) -> Any:
    return lambda x: kind(jax.typeof(x), **params)(x)


def test_every_row_has_a_section_with_a_program() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(#(.+?)\)", text, re.MULTILINE)
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert [name for name, _ in rows] == list(sections)
    for name, anchor in rows:
        assert anchor == name.lower().replace(" ", "-")
        assert ">>> " in sections[name]
    assert {row.count(" | ") for row in text.splitlines() if row.startswith("| [")} == {5}


def test_a_missing_rule_is_named() -> None:
    with pytest.raises(NotImplementedError, match=r"^Batching rule for 'triple' not implemented"):
        jax.vmap(_primitive().bind)(X)
    with pytest.raises(NotImplementedError, match="must implement `batch` or `batch_dim_rule`"):
        jax.vmap(_apply(Triple))(jnp.asarray(X))


def test_a_tangent_of_another_shape_passes() -> None:
    p = _primitive()
    ad.primitive_jvps[p] = lambda primals, tangents: (p.bind(*primals), tangents[0][:1])
    assert jax.jvp(p.bind, (X,), (X,))[1].shape == (1,)
    x = jnp.asarray(X)
    assert jax.jvp(_apply(Cut), (x,), (x,))[1].shape == (1,)
    with pytest.raises(ValueError, match="Expected cotangent type"):
        jax.grad(lambda x: _apply(Cut)(x).sum())(x)


def test_evaluation_does_not_ask_the_type_rule() -> None:
    p = _primitive(lambda x: x)

    def refuse(x: Any) -> Any:
        raise TypeError("triple: x must be an int")

    p.def_abstract_eval(refuse)
    assert p.bind(X).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="must be an int"):
        jax.jit(p.bind)(X)
    assert _primitive(lambda x: x[:1]).bind(X).shape == (1,)
    assert _apply(Cut)(jnp.asarray(X)).shape == (1,)


def test_names_are_labels() -> None:
    p, q = _primitive(), _primitive()
    program = str(jax.make_jaxpr(lambda x: p.bind(q.bind(x)))(X))
    assert program.count("= triple ") == 2


def test_rules_are_replaced_silently() -> None:
    p = _primitive()
    batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims[0])
    batching.primitive_batchers[p] = lambda args, dims: (0 * args[0], dims[0])
    assert jax.vmap(p.bind)(X).tolist() == [0, 0, 0]


def test_parameters_are_looked_at_under_jit_alone() -> None:
    p = _primitive(lambda x, k: x)
    assert p.bind(X, k=[1]).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="must have __hash__ and __eq__"):
        jax.jit(lambda x: p.bind(x, k=X))(X)
    assert _apply(Triple, k=[1])(jnp.asarray(X)).tolist() == [3, 6, 9]


def test_effects_are_part_of_both() -> None:
    assert {"Effect", "Effects"} <= set(dir(core))
    assert hijax.VJPHiPrimitive.effects == frozenset()


def test_what_is_promised() -> None:
    assert "no compatibility guarantee" in " ".join((jax.extend.__doc__ or "").replace("*", "").split())
    assert not hasattr(core, "testing")
