"""The classification of errors of calls with hostile objects, and some calls."""

from __future__ import annotations

import re

import pytest

import primax as px
from fuzz.canary import Canary
from fuzz.hostile import judge, program
from fuzz.objects import OBJECTS, Hostile
from fuzz.runner import Job, run
from fuzz.targets import EXCLUDED, HEADER, targets

BY_PATH = {target.path: target for target in targets()}
SIN = BY_PATH["primax.numpy.sin"]
PLAIN = {"x": Hostile("None", "None")}


def test_functions_of_every_public_module_are_found():
    for path in ("primax.jit", "primax.lax.scan", "primax.extend.core.get_aval", "primax.extend.ffi.ffi_call"):
        assert path in BY_PATH
    assert any(path.endswith("at[0].set") for path in BY_PATH)
    assert len(targets()) > 1200


def test_what_is_left_out_is_said_why():
    for pattern, reason in EXCLUDED.items():
        assert reason
        assert not any(re.fullmatch(pattern, path) for path in BY_PATH)


@pytest.mark.parametrize(
    "error,wrong",
    [
        (TypeError("sin: x must be an array"), None),
        (TypeError("x must be an array"), None),
        (px.errors.UnexpectedTracerError("a value escaped"), None),
        (TypeError("'NoneType' object is not iterable"), "unnamed"),
        (KeyError("x"), "internal"),
        (AttributeError("'NoneType' object has no attribute 'x'"), "internal"),
        (ZeroDivisionError("x"), "internal"),
        (RecursionError("maximum recursion depth exceeded"), "internal"),
        (ValueError('x: loc("-":1:1): error'), "raw"),
    ],
)
def test_errors_are_of_the_documented_kind_and_say_what_they_are_about(error, wrong):
    assert judge(error, SIN, PLAIN) == wrong


def test_a_program_is_one_call_of_at_most_eight_lines():
    for thing in OBJECTS:
        lines = program(SIN, {"x": thing}).splitlines()
        assert len(lines) <= 8
        assert "primax.numpy.sin(" in lines[-1]


@pytest.mark.parametrize(
    "thing", [thing for thing in OBJECTS if thing.around == "{}"], ids=lambda thing: thing.name[:40]
)
def test_hostile_objects_are_made(thing):
    namespace = {}
    exec("\n".join([HEADER, *thing.lines]), namespace)
    eval(thing.expression, namespace)


def test_the_canary_sees_what_has_changed():
    canary = Canary()
    assert canary.sings() == ""
    px.config.update("log_compiles", True)
    assert canary.sings() == "it changed options"
    assert canary.sings() == ""
    canary.function._clear_cache()
    assert canary.sings() == "the next call of a jitted function leaves the fast path"
    assert canary.sings() == ""


def test_no_call_does_harm_or_fails_inside():
    outcome = run([Job("fuzz.hostile:Hostiles", 32, "short", cases=300)])
    found = [finding for finding in outcome.findings.values() if not finding.sort.startswith("unnamed")]
    assert not found, "\n\n".join(f"{finding.message}\n{finding.program}" for finding in found)


def _error(program):
    try:
        exec(program, {"px": px})
    except Exception as error:
        return error
    raise AssertionError(f"{program} returned")


def test_errors_of_functions_that_the_program_gives_are_their_own():
    vjp = BY_PATH["primax.vjp"]
    assert judge(_error("f = lambda x: [].pop()\nf(1)"), vjp, {"primals": PLAIN["x"]}) is None
    assert judge(_error("[].pop()"), vjp, {"primals": PLAIN["x"]}) == "unnamed"


def test_trees_without_an_end_are_refused_as_such():
    (thing,) = (thing for thing in OBJECTS if thing.name == "a list that holds itself")
    assert judge(RecursionError("tree.flatten: tree must not contain itself"), SIN, {"x": thing}) is None
    assert judge(RecursionError("tree.flatten: tree must not contain itself"), SIN, PLAIN) == "internal"
    assert judge(SystemError("returned a result with an exception set"), SIN, {"x": thing}) == "internal"
    assert judge(AttributeError("'Option' object has no attribute 'value'"), SIN, {"x": thing}) == "internal"


def test_a_method_that_a_staged_array_does_not_have_is_named():
    (tracer,) = (thing for thing in OBJECTS if thing.name == "a tracer of jit")
    target = BY_PATH["pnp.ones((2, 3), np.float32).addressable_data"]
    error = AttributeError("'StagingTracer' object has no attribute 'addressable_data'")
    assert judge(error, target, {"index": tracer}) is None
    assert judge(error, target, {"index": PLAIN["x"]}) == "internal"


def test_a_class_is_a_function_where_functions_are_expected():
    (thing,) = (thing for thing in OBJECTS if thing.name == "dict")
    error = TypeError("cannot convert dictionary update sequence element #0 to a sequence")
    assert judge(error, BY_PATH["primax.tree.all"], {"is_leaf": thing}) is None
    assert judge(error, BY_PATH["primax.tree.all"], {"tree": thing}) == "unnamed"


def test_what_compares_derivatives_says_that_they_differ():
    error = AssertionError("\nNot equal to tolerance\ncheck_jvp: the tangents differ from finite differences\n")
    assert judge(error, BY_PATH["primax.test_util.check_jvp"], {"f_jvp": PLAIN["x"]}) is None
    assert judge(error, SIN, PLAIN) == "internal"
