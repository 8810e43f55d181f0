"""The conformance kit: what it runs, what it reports, and its pytest plugin."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from packages import KEPLER, copy_of_kepler, install, run
from sound_rules import PRODUCT, SEVERAL, WAVE, Toy, X, Y, inexact, registered

import primax as px
import primax.numpy as pnp
from primax.core.errors import PluginError
from primax.extend import define_primitive, derive
from primax.extend.core.primitives import jit_p, sin_p
from primax.extend.interpreters import ad
from primax.extend.testing import (
    CHECKS,
    ConformanceError,
    Outcome,
    Report,
    Sample,
    check_plugin,
    check_primitive,
    iter_checks,
    samples_of,
)


def run_only(p, *checks):
    return Report(check.run() for check in iter_checks(p, only=checks))


def test_a_primitive_is_checked_with_given_arguments_and_parameters():
    report = check_primitive(sin_p, X, accuracy=None)
    assert {outcome.check for outcome in report} == set(CHECKS) - {"metadata", "samples", "override", "discharge"}
    assert {outcome.primitive for outcome in report} == {"sin"}
    assert report.ok


def test_what_fails_is_raised_as_one_error_with_the_report():
    def jvp(primals, tangents, *, factor):
        return p.bind(*primals, factor=factor), -tangents[0]

    with registered(WAVE, jvp=jvp) as p, pytest.raises(ConformanceError) as caught:
        check_primitive(p)
    failed = {outcome.check for outcome in caught.value.report.failed}
    assert "jvp" in failed
    assert not failed & {"abstract_eval", "lowering", "batch"}
    assert isinstance(caught.value, AssertionError)
    for outcome in caught.value.report.failed:
        assert outcome.label in str(caught.value)


def test_what_cannot_run_is_reported_with_the_reason():
    toy = replace(PRODUCT, samples=(Sample([X, Y], skip={"shapes": "sizes are fixed"}),))
    with registered(toy, batch=None, unsupported={"batch": "it has one place for each operand"}) as p:
        reasons = {outcome.check: outcome.message for outcome in check_primitive(p).not_run}
    assert reasons["shapes"] == "skipped by the sample: sizes are fixed"
    assert reasons["batch"] == "batch is declared unsupported: it has one place for each operand"
    assert reasons["vmap_of_jvp"] == reasons["batch"]
    assert reasons["reference"] == "the sample gives no reference"


def test_cotangents_are_compared_with_differences_where_tangents_are_not():
    toy = replace(WAVE, samples=[replace(sample, skip={"jvp": "it has none"}) for sample in WAVE.samples])

    def doubled(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), 2 * factor * t * pnp.cos(factor * x)

    with registered(toy) as p:
        assert not run_only(p, "jvp", "transpose").failed
    with registered(toy, jvp=doubled) as p:
        assert {outcome.check for outcome in run_only(p, "jvp", "linearity", "transpose").failed} == {"transpose"}


def test_reverse_mode_may_be_unsupported():
    with registered(PRODUCT, transpose=None, unsupported={"transpose": "one way only"}) as p:
        report = check_primitive(p)
    reasons = {outcome.check: outcome.message for outcome in report.not_run}
    assert report.ok
    assert reasons["transpose"] == reasons["grad_of_jit"] == "transpose is declared unsupported: one way only"


def test_constant_arguments_are_not_differentiated():
    def jvp(primals, tangents):
        (x, y), (t, u) = primals, tangents
        if type(u) is not ad.Zero:
            raise NotImplementedError("product: its derivative with respect to y is not implemented")
        return p.bind(x, y), p.bind(t, y)

    with registered(replace(PRODUCT, samples=(Sample([X, Y], constant=(1,)),)), jvp=jvp) as p:
        assert run_only(p, "jvp", "transpose", "active_arguments", "second_derivatives").ok


def _doubled_sum(p):
    """Twice the sum over the axis named i."""

    def abstract_eval(x):
        inexact(x)
        return x

    def batch(axis, args, dims):
        (x,), (dim,) = args, dims
        if axis.name != "i":
            return p.bind(x), dim
        return (2 * axis.size * x if dim is None else 2 * pnp.sum(x, dim)), None

    return {
        "abstract_eval": abstract_eval,
        "jvp": ad.linear_jvp(p),
        "transpose": ad.linear_transpose(p, lambda ct: [p.bind(ct)]),
        "axis_batch": batch,
    }


DOUBLED_SUM = Toy(
    "doubled_sum",
    _doubled_sum,
    (Sample([X], axes={"i": 2}, reference=lambda x: np.broadcast_to(2 * x.sum(0), x.shape)),),
)
NO_AXIS = {"lowering": "it needs an axis"}


def test_primitives_that_need_an_axis_are_checked_within_it():
    with registered(DOUBLED_SUM, unsupported=NO_AXIS) as p:
        report = check_primitive(p)
    assert {"reference", "jvp", "transpose", "batch", "vmap_of_grad"} <= {outcome.check for outcome in report.passed}


@pytest.mark.parametrize(
    "check, wrong",
    [
        ("reference", {"axis_batch": lambda axis, args, dims: (pnp.sum(args[0], dims[0]), None)}),
        ("jvp", {"jvp": lambda primals, tangents: (2 * primals[0], 2 * tangents[0])}),
        ("transpose", {"transpose": lambda ct, x: [ct]}),
    ],
)
def test_wrong_rules_within_an_axis_are_found(check, wrong):
    with registered(DOUBLED_SUM, unsupported=NO_AXIS, **wrong) as p:
        assert run_only(p, check).failed


def test_samples_vary_as_they_say():
    def increasing(args, k):
        return [args[0] + k]

    seen = []

    def impl(x, *, factor):
        seen.append(np.array(x, np.float64))
        return np.sin(np.asarray(x) * x.dtype.type(factor))

    toy = replace(WAVE, samples=(Sample([np.array([0.1, 0.2])], {"factor": 1.0}, vary=increasing),))
    with registered(toy, impl=impl, lowering=None, unsupported={"lowering": "runs in Python"}) as p:
        assert run_only(p, "batch").ok
    assert [1.1, 1.2] in [x.round(3).tolist() for x in seen]


def test_primitives_without_lowering_are_checked_by_evaluation():
    with registered(SEVERAL, lowering=None, unsupported={"lowering": "runs in Python"}) as p:
        report = check_primitive(p)
    reasons = {outcome.check: outcome.message for outcome in report.not_run}
    assert reasons["lowering"] == "lowering is declared unsupported: runs in Python"
    assert {"jvp", "batch", "second_derivatives", "vmap_of_grad"} <= {outcome.check for outcome in report.passed}


def test_primitives_that_hold_programs_are_checked():
    program = px.make_jaxpr(lambda x, y: (pnp.sin(x) * y, pnp.sum(x)))(X, Y)
    params = {"name": "f", "donated_invars": (False, False), "keep_unused": False, "inline": False}
    report = check_primitive(jit_p, X, Y, jaxpr=program, **params)
    passed = {outcome.check for outcome in report.passed}
    assert {"jvp", "transpose", "batch", "second_derivatives", "dce", "partial_eval"} <= passed


def test_a_primitive_without_samples_is_reported():
    with registered(replace(WAVE, samples=())) as p:
        (outcome,) = run_only(p, *CHECKS)
    assert (outcome.check, outcome.status) == ("samples", "failed")
    assert outcome.message.startswith("wave (toys) has no samples; registry.samples(wave_p, ")


def test_samples_that_cannot_be_made_are_reported():
    def broken():
        raise RuntimeError("no data")

    with registered(replace(WAVE, samples=(broken,))) as p:
        (outcome,) = run_only(p, *CHECKS)
    first, place = outcome.message.splitlines()
    assert first == "its samples cannot be made: RuntimeError: no data"
    assert place.startswith(f"raised at {__file__}:")


def test_functions_that_make_samples_are_called_when_samples_are_wanted():
    calls = []

    def made():
        calls.append(1)
        return [Sample([X], {"factor": 2.0}, name="doubled")]

    with registered(replace(WAVE, samples=(made,))) as p:
        assert not calls
        assert [sample.name for sample in samples_of(p)] == ["doubled"]
        labels = [check.label for check in iter_checks(p, only=["jvp", "samples"])]
    assert labels == ["wave::samples", "wave[doubled]::jvp"]


def test_modules_with_samples_are_imported_when_samples_are_wanted(tmp_path, monkeypatch):
    (tmp_path / "samples_of_waves.py").write_text(
        "from primax.extend.testing import Sample\n"
        "one = Sample([0.5], {'factor': 2.0}, name='one')\n"
        "def made():\n"
        "    return [Sample([0.5], {'factor': 3.0}, name='made')]\n"
        "several = [one, made]\n"
        "by_primitive = {}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    places = [f"samples_of_waves:{name}" for name in ("one", "made", "several", "by_primitive")]
    with registered(replace(WAVE, samples=tuple(places))) as p:
        assert "samples_of_waves" not in sys.modules
        assert [sample.name for sample in samples_of(p)] == ["one", "made", "one", "made"]
        sys.modules["samples_of_waves"].by_primitive[p] = sys.modules["samples_of_waves"].made
        assert len(samples_of(p)) == 5
    del sys.modules["samples_of_waves"]


def test_checks_are_named_and_each_says_what_it_holds():
    assert all(re.match(r"[A-Z].*\.", text) for text in CHECKS.values())
    with pytest.raises(ValueError, match=r"checks must be among .*, got 'jpv'; did you mean 'jvp'\?"):
        list(iter_checks(sin_p, only=["jpv"]))


def test_a_primitive_is_asked_for():
    with pytest.raises(TypeError, match="check_primitive: primitive must be a Primitive, got 'sin'"):
        check_primitive("sin")


def test_an_unknown_plugin_is_refused():
    with pytest.raises(PluginError, match="there is no plugin 'trigonometri'; did you mean 'trigonometry'"):
        check_plugin("trigonometri")


def test_a_report_counts_prints_and_becomes_data():
    outcomes = [
        Outcome("p", "plugin", "", "samples", "passed"),
        Outcome("p", "plugin", "0", "jvp", "failed", "p (plugin): wrong\nlook there"),
        Outcome("p", "plugin", "0", "impl", "not run", "there is none"),
        Outcome("p", "plugin", "1", "impl", "not run", "there is none"),
    ]
    report = Report(outcomes)
    assert str(report).splitlines() == [
        "failed   p[0]::jvp",
        "    p (plugin): wrong",
        "    look there",
        "not run  impl (2 samples): there is none",
        "1 passed, 1 failed, 2 not run",
    ]
    data = json.loads(json.dumps(report.as_dict()))
    assert (data["ok"], data["passed"], data["failed"], data["not_run"]) == (False, 1, 1, 2)
    assert data["outcomes"][1]["message"].startswith("p (plugin): wrong")
    assert Report(outcomes[:1]).require().ok


def test_outcomes_are_told_as_they_come():
    told = []
    report = check_plugin("devices", progress=told.append, only=["samples"])
    assert told == report.outcomes
    assert told


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit")
    return install(folder / "site", copy_of_kepler(folder))


def test_pytest_checks_a_plugin_by_name(site: Path, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): raise AssertionError\n")
    command = [sys.executable, "-m", "pytest", "--primax", "kepler", "-v", "-p", "no:cacheprovider", "-k"]
    printed = run([*command, "samples or registration or reference"], tmp_path, PYTHONPATH=str(site)).stdout
    assert "kepler::kepler::samples PASSED" in printed
    assert "kepler::kepler[elementwise]::reference PASSED" in printed
    assert " 7 passed, " in printed
    assert "test_other" not in printed


def test_the_example_uses_the_kit_in_one_line() -> None:
    text = (KEPLER / "tests" / "test_rules.py").read_text(encoding="utf-8")
    assert 'test_rules = conformance("kepler")' in text.splitlines()


@pytest.mark.parametrize("target", [np.ones((1, 1)), 3, None, {"a": 1}, ["arithmetic", 3]], ids=repr)
def test_targets_are_names_and_primitives(target):
    with pytest.raises(TypeError, match="targets must be names of plugins, primitives, or lists of them, got"):
        list(iter_checks(target))


def test_targets_may_be_in_any_collection():
    one = {check.primitive for check in iter_checks(sin_p)}
    for several in ([sin_p], {"sin": sin_p}.values(), iter((sin_p,)), [[sin_p]]):
        assert {check.primitive for check in iter_checks(several)} == one


POWER = {
    "impl": lambda x, k: x**k,
    "abstract_eval": derive.from_impl,
    "batch": derive.from_impl,
    "lowering": derive.from_impl,
    "nondiff": (1,),
}


@pytest.mark.parametrize(
    "derivative",
    [
        {"jvp": derive.from_impl},
        {"vjp": (lambda x, k: (x**k, (x, k)), lambda res, ct: (ct * res[1] * res[0] ** (res[1] - 1), None))},
    ],
    ids=["jvp", "vjp"],
)
def test_what_is_declared_nondiff_needs_no_constant_in_each_sample(derivative):
    power_p = define_primitive("power_of_kit", **POWER, **derivative)
    report = check_primitive(power_p, np.array([0.3, 1.2]), np.array([2.0, 3.0]))
    assert {"transpose", "vmap_of_grad"} <= {outcome.check for outcome in report.passed}
