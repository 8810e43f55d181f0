"""Mistakes that authors make: each is told of at the earliest moment that can know it, with a message that helps.

The moments are: the definition; the loading of the plugin; the first use; the conformance kit. More faults that only
numbers show are in `test_kit_faults.py` and `test_kit_causes.py`, more of what rules return in `test_promises.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core.samples import sample_sources
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.interpreters import ad, batching
from primax.extend.testing import Report, Sample, check_plugin, iter_checks

FROM_IMPL = derive.from_impl
X = np.float32([0.3, -1.2, 0.7])
SOUND: dict[str, Any] = {
    "impl": lambda x: 3 * x,
    "abstract_eval": FROM_IMPL,
    "jvp": derive.linear,
    "transpose": FROM_IMPL,
    "batch": FROM_IMPL,
    "lowering": FROM_IMPL,
}


@dataclass(frozen=True)
class Mistake:
    """What is wrong, the first moment that can know it, and what is said then.

    Attributes:
      rules: what is given in place of sound rules.
      said: a part of the message.
      use: what is done with the primitive, where the first use is the moment.
      check: the check of the kit that finds it, where that is the moment.
    """

    rules: dict[str, Any]
    said: str
    use: Any = None
    check: str = ""


def _grad(p: Any) -> Any:
    return px.grad(lambda x: p.bind(x).sum())(X)


def _jvp(p: Any) -> Any:
    return px.jvp(p.bind, (X,), (X,))


def _zero_in_arithmetic(primals: Any, tangents: Any) -> Any:
    return 3 * primals[0], 3 * tangents[0] + 0 * ad.Zero.from_primal_value(primals[0])


AT_DEFINITION = {
    "a kind of rule that there is none of": Mistake({"jpv": abs}, "got 'jpv'; did you mean 'jvp'"),
    "a rule that is no function": Mistake({"impl": 3}, "the impl rule must be a function"),
    "a jvp of another signature": Mistake({"jvp": lambda x: x}, "the jvp rule must be (primals, tangents, **params)"),
    "a batch rule of another signature": Mistake({"batch": lambda a, b, c: a}, "the batch rule must be (args, dims"),
    "a factory in place of a rule": Mistake({"batch": batching.vectorized}, "derive.by(vectorized)"),
    "a type rule of other arguments": Mistake({"abstract_eval": lambda x, y: x}, "as many arguments as the impl, 1"),
    "a rule beside why it cannot be": Mistake({"unsupported": {"jvp": "no"}}, "jvp is given and declared unsupported"),
    "a derivation from nothing": Mistake({"impl": None}, "only if there is a rule impl, which is not given"),
    "a derivation of another kind": Mistake({"impl": derive.linear}, "impl cannot be derive.linear"),
    "a jvp from the impl, and a transpose": Mistake(
        {"jvp": FROM_IMPL, "transpose": lambda ct, x: [ct]}, "which grad would not call"
    ),
    "a batch rule that loses another": Mistake({"dce": lambda used, eqn: None}, "beside a dce rule written by hand"),
    "a vjp beside a jvp": Mistake({"vjp": (abs, abs)}, "vjp must not be given beside a jvp rule"),
    "linear in what there is not": Mistake({"linear": (1,)}, "of which there are 1, got 1"),
    "samples that are none": Mistake({"samples": [3]}, "samples must be Samples or functions that return some"),
}

AT_FIRST_USE = {
    "an impl of another shape": Mistake(
        {"impl": lambda x: np.zeros(4, np.float32), "abstract_eval": lambda x: x},
        "returned f32[4]",
        lambda p: p.bind(X),
    ),
    "an impl of another dtype": Mistake(
        {"impl": lambda x: np.zeros(3, np.int32), "abstract_eval": lambda x: x}, "returned i32[3]", lambda p: p.bind(X)
    ),
    "an impl that returns nothing": Mistake({"impl": lambda x: None}, "must return arrays, got None", _jvp),
    "a list as a parameter": Mistake(
        {"impl": lambda x, *, k: x, "jvp": None, "transpose": None},
        "parameters are static: make it a tuple",
        lambda p: p.bind(X, k=[1]),
    ),
    "a tracer as a parameter": Mistake(
        {"impl": lambda x, *, k: x, "jvp": None, "transpose": None},
        "parameters are static: pass it as an operand",
        lambda p: px.jit(lambda x: p.bind(x, k=x))(X),
    ),
    "an operand that the type rule refuses": Mistake(
        {"abstract_eval": lambda x: (_ for _ in ()).throw(TypeError("triple: x must be an int"))},
        "triple: x must be an int",
        lambda p: p.bind(X),
    ),
    "a zero in arithmetic": Mistake({"jvp": _zero_in_arithmetic}, "make it one by ad.instantiate_zeros(t)", _jvp),
    "no tangent": Mistake(
        {"jvp": lambda primals, tangents: (primals[0], None)}, "returned None as a tangent; a zero is Zero(aval)", _jvp
    ),
    "neither primal nor tangent": Mistake(
        {"jvp": lambda primals, tangents: (None, None)}, "returned None as a tangent", _jvp
    ),
    "a tangent of another shape": Mistake(
        {"jvp": lambda primals, tangents: (primals[0], tangents[0][:1])}, "returned a tangent of type f32[1]", _jvp
    ),
    "no pair from a jvp": Mistake(
        {"jvp": lambda primals, tangents: 3}, "must return (primal_out, tangent_out), got 3", _jvp
    ),
    "a batch axis that is not there": Mistake(
        {"batch": lambda args, dims: (args[0], 5)}, "returned dim 5", lambda p: px.vmap(p.bind)(X)
    ),
    "too few cotangents": Mistake(
        {"transpose": lambda ct, x: []}, "must return a list of one cotangent or None per argument", _grad
    ),
    "a cotangent of another shape": Mistake(
        {"transpose": lambda ct, x: [ct[:1]]}, "returned a cotangent of type f32[1]", _grad
    ),
    "no cotangent of what is declared linear": Mistake(
        {"jvp": None, "transpose": lambda ct, x: [None], "linear": (0,)}, "in which it is declared linear", _grad
    ),
    "a derivative where none is declared": Mistake({"nondiff": (0,)}, "which is declared nondiff", _grad),
    "forward mode of a backward rule": Mistake(
        {"jvp": None, "transpose": None, "vjp": (lambda x: (3 * x, None), lambda r, ct: [3 * ct])},
        "no forward-mode derivative",
        _jvp,
    ),
    "an impl of NumPy, to be derived from": Mistake(
        {"impl": lambda x: np.sin(x), "abstract_eval": lambda x: x},
        "NumPy asked for the array of a tracer",
        lambda p: px.jit(p.bind)(X),
    ),
}


def _slope(factor: Any) -> Any:
    return lambda primals, tangents: (3 * primals[0], ad_map(factor, tangents))


IN_THE_KIT = {
    "a derivative of twice the size": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(6, t))}, "differences give", check="jvp"
    ),
    "the same in single precision only": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(3 if p[0].dtype == np.float64 else 6, t))}, "float32", check="own_dtype"
    ),
    "a factor that widens": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(np.float64(3), t))}, "f64[3]", check="own_dtype"
    ),
    "a transpose of another map": Mistake({"transpose": lambda ct, x: [2 * ct]}, "not that of the", check="transpose"),
    "a batch rule of another map": Mistake(
        {"batch": lambda args, dims: (2 * args[0], dims[0])}, "mapped", check="batch"
    ),
    "no lowering": Mistake({"lowering": None}, "there is no lowering rule", check="registration"),
    "no samples": Mistake({}, "has no samples", check="samples"),
}


def ad_map(factor: Any, tangents: Any) -> Any:
    (t,) = tangents
    return t if type(t) is ad.Zero else t * factor


@pytest.mark.parametrize("name", AT_DEFINITION)
def test_what_the_definition_can_know_is_told_there(name: str) -> None:
    mistake = AT_DEFINITION[name]
    with pytest.raises(TypeError, match=re.escape(mistake.said)) as error:
        define_primitive("triple", **{**SOUND, **mistake.rules})
    assert str(error.value).startswith("define_primitive(triple)")


@pytest.mark.parametrize("name", AT_FIRST_USE)
def test_what_the_first_use_can_know_is_told_there(name: str) -> None:
    mistake = AT_FIRST_USE[name]
    p = define_primitive("triple", **{**SOUND, **mistake.rules})
    with pytest.raises((TypeError, core.RuleError), match=re.escape(mistake.said)) as error:
        mistake.use(p)
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert "triple" in text


@pytest.mark.parametrize("name", IN_THE_KIT)
def test_what_numbers_show_is_told_by_the_kit_as_one_cause(name: str) -> None:
    mistake = IN_THE_KIT[name]
    p = define_primitive("triple", **{**SOUND, **mistake.rules})
    if mistake.check != "samples":
        sample_sources[p] = [Sample([X])]
    report = Report([check.run() for check in iter_checks(p)])
    sample_sources.pop(p, None)
    ((cause, _),) = report.causes
    assert cause.check == mistake.check
    assert mistake.said in cause.message


def _forgotten(registry: Any) -> None:
    define_primitive("forgotten", **SOUND, registry=Definitions())


LOADED = {
    "a misspelt hook": (
        lambda: _plugin(primax_registr=hookimpl(lambda registry: None)),
        "did you mean 'primax_register'",
    ),
    "a hook that is not marked": (lambda: _plugin(primax_register=_forgotten), "is not marked with @hookimpl"),
    "a hook that raises": (lambda: _plugin(primax_register=hookimpl(lambda registry: 1 / 0)), "ZeroDivisionError"),
    "two primitives of one name": (
        lambda: _plugin(
            primax_register=hookimpl(
                lambda registry: [define_primitive("twice_named", impl=pnp.sin, registry=registry) for _ in range(2)]
            )
        ),
        "may not define two primitives 'twice_named'",
    ),
    "a rule that is there": (
        lambda: _plugin(
            primax_register=hookimpl(lambda registry: registry.define(px.lax.sin_p, jvp=lambda p, t: (p, t)))
        ),
        "may not replace the jvp rule of sin",
    ),
}


def _plugin(**functions: Any) -> Any:
    module = type(re)("planted")
    vars(module).update(functions)
    return module


@pytest.mark.parametrize("name", LOADED)
def test_what_loading_can_know_is_told_there(name: str) -> None:
    make, said = LOADED[name]
    with pytest.raises(px.errors.PluginError, match=re.escape(said)):
        px.plugins.register(make(), name="planted")


def test_a_plugin_that_forgets_its_definitions_is_told_by_the_kit() -> None:
    px.plugins.register(_plugin(primax_register=hookimpl(_forgotten)), name="planted")
    try:
        (outcome,) = check_plugin("planted").failed
    finally:
        px.plugins.unregister("planted")
    assert "has entered nothing; did you forget definitions.enter(registry)" in outcome.message
