"""The program of an impl: its arguments and results, and errors that name the rule that needs it."""

from __future__ import annotations

import numpy as np
import pytest
from derived import FROM_IMPL, X

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive


def test_host_values_enter_a_derived_program_as_the_arrays_they_stand_for():
    p = define_primitive("wide", impl=lambda x, y: x * (y * y), jvp=FROM_IMPL)
    big = np.full(3, 65536)
    with px.enable_x64(False):
        y, dy = px.jvp(lambda x: p.bind(x, big), (X,), (X,))
    assert y.tolist() == dy.tolist() == [0, 0, 0]  # as 32-bit integers wrap, unlike those of NumPy


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("abstract_eval", lambda p: px.make_jaxpr(p.bind)(X)),
        ("jvp", lambda p: px.jvp(p.bind, (X,), (X,))),
        ("batch", lambda p: px.vmap(p.bind)(X)),
        ("lowering", lambda p: px.jit(p.bind)(X)),
    ],
)
def test_an_impl_that_cannot_be_traced_says_for_which_rule_it_had_to_be(kind, use):
    rules = {"abstract_eval": lambda x: x, kind: FROM_IMPL}
    p = define_primitive("stiff", impl=lambda x: np.sin(x), **rules)
    with pytest.raises(px.errors.TracerArrayConversionError) as error:
        use(p)
    (note,) = [note for note in error.value.__notes__ if "derived" in note]
    assert note.startswith(f"The {kind} rule of stiff is derived from its impl ({__file__}:")
    assert note.endswith("so the impl must be written in primax operations.")


def test_an_impl_that_is_not_linear_says_so_when_it_is_transposed():
    p = define_primitive("bent", impl=pnp.sin, abstract_eval=FROM_IMPL, jvp=derive.linear, transpose=FROM_IMPL)
    with pytest.raises(core.MissingRuleError, match="no transpose rule for primitive 'sin'") as error:
        px.grad(lambda x: p.bind(x).sum())(X)
    assert any("transpose rule of bent" in note and "and linear" in note for note in error.value.__notes__)


def test_an_impl_of_several_results_must_return_a_list():
    p = define_primitive("lone", multiple_results=True, impl=lambda x: x, abstract_eval=FROM_IMPL)
    with pytest.raises(core.RuleError, match="impl rule of lone must return a list, since multiple_results is True"):
        px.make_jaxpr(p.bind)(X)
