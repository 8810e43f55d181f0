"""Results that arguments determine but for a sign are compared by what is determined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sound_rules import Toy, registered

import primax.numpy as pnp
from primax.extend import core
from primax.extend.interpreters import ad, mlir
from primax.extend.testing import Report, Sample, check_primitive, iter_checks

V = np.array([0.6, -1.1, 1.7])


def _unit(p: core.Primitive) -> dict[str, Any]:
    """The length of a vector, and a unit vector along it in this direction or the other, as it happens."""

    def abstract_eval(x):
        if x.ndim != 1 or not core.dtypes.is_floating(x.dtype) or not x.size:
            raise TypeError(f"unit: x must be a vector of real numbers, got {x.str_short()}")
        return [core.ShapedArray((), x.dtype), core.ShapedArray(x.shape, x.dtype)]

    def forwards(x):
        length = pnp.sqrt(pnp.sum(x * x))
        return [length, (1 if x.dtype == np.float64 else -1) * x / length]

    def backwards(x):
        length, u = forwards(x)
        return [length, -u]

    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        length, u = p.bind(x)
        if type(t) is ad.Zero:
            return [length, u], [ad.Zero.from_primal_value(length), ad.Zero.from_primal_value(u)]
        sign = pnp.sign(pnp.sum(u * x))
        growth = sign * pnp.sum(u * t)
        return [length, u], [growth, (sign * t - growth * u) / length]

    def batch(args, dims):
        x = pnp.moveaxis(args[0], dims[0], 0)
        length = pnp.sqrt(pnp.sum(x * x, 1))
        signs = (-1.0) ** pnp.arange(len(x)).astype(x.dtype)
        return [length, signs[:, None] * x / length[:, None]], [0, 0]

    return {
        "impl": backwards,
        "abstract_eval": abstract_eval,
        "jvp": jvp,
        "batch": batch,
        "lowering": mlir.lower_fun(forwards),
    }


def _determined(results, args):
    length, u = results
    return [length, np.outer(u, u)]


SAMPLE = Sample([V], invariants=_determined, reference=lambda x: [np.sqrt(x @ x), x / np.sqrt(x @ x)])
UNIT = Toy("unit", _unit, (SAMPLE,), multiple_results=True)


def _reports(p: core.Primitive, *checks: str) -> Report:
    return Report([each.run() for each in iter_checks(p, only=checks or None)])


def test_results_of_another_sign_pass_all_checks():
    with registered(UNIT) as p:
        report = check_primitive(p)
    compared = {"lowering", "reference", "dtypes", "batch", "jvp", "second_derivatives", "vmap_of_grad", "grad_of_jit"}
    assert compared <= {outcome.check for outcome in report.passed}


@pytest.mark.parametrize("check", ["lowering", "reference", "dtypes", "batch", "vmap_of_jvp"])
def test_without_invariants_the_sign_matters(check):
    with registered(replace(UNIT, samples=(replace(SAMPLE, invariants=None),))) as p:
        assert _reports(p, check).failed


def _tangent_that_changes(change):
    def make(p):
        rule = _unit(p)["jvp"]

        def jvp(primals, tangents):
            outs, changes = rule(primals, tangents)
            return outs, [changes[0], change(outs[1], changes[1])]

        return jvp

    return make


@pytest.mark.parametrize(
    "change, checks",
    [
        (lambda u, du: 2 * du, ("jvp", "second_derivatives")),
        (lambda u, du: -du, ("jvp",)),
        (lambda u, du: du + 0.01 * u * u * pnp.sum(du), ("jvp", "second_derivatives")),
    ],
)
def test_wrong_tangents_of_undetermined_results_are_found(change, checks):
    def make(p):
        return {**_unit(p), "jvp": _tangent_that_changes(change)(p)}

    with registered(replace(UNIT, make=make)) as p:
        failed = {outcome.check: outcome.message for outcome in _reports(p, *checks).failed}
    assert set(checks) == set(failed)
    assert "the tangent of invariant 1" in failed["jvp"]


def test_tangents_of_the_other_vector_are_found():
    """Each of two parts is right up to a sign, and both together are not."""

    def make(p):
        rule = _unit(p)["jvp"]

        def jvp(primals, tangents):
            (length, u), changes = rule(primals, tangents)
            return [length, -u], changes

        return {**_unit(p), "jvp": jvp}

    with registered(replace(UNIT, make=make)) as p:
        assert _reports(p, "jvp").failed


def test_wrong_batches_of_undetermined_results_are_found():
    def make(p):
        rules = _unit(p)

        def batch(args, dims):
            outs, dims = rules["batch"](args, dims)
            return [outs[0], 1.001 * outs[1]], dims

        return {**rules, "batch": batch}

    with registered(replace(UNIT, make=make)) as p:
        failed = {outcome.check: outcome.message for outcome in _reports(p, "batch", "jvp_of_vmap").failed}
    assert set(failed) == {"batch", "jvp_of_vmap"}
    assert "invariant 1, mapped over an axis of size" in failed["batch"]


def test_types_are_compared_whatever_is_determined():
    sample = replace(SAMPLE, reference=lambda x: [np.sqrt(x @ x), x[:2]])
    with registered(replace(UNIT, samples=(sample,))) as p:
        (outcome,) = _reports(p, "reference").failed
    assert "expected shape (2,), got (3,)" in outcome.message


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda results, args: results[7], "the sample's invariants cannot be computed: IndexError"),
        (lambda results, args: results[0], "the sample's invariants must be a list of arrays, got ndarray"),
    ],
)
def test_invariants_that_cannot_be_used_are_reported(function, message):
    with registered(replace(UNIT, samples=(replace(SAMPLE, invariants=function),))) as p:
        (outcome,) = _reports(p, "lowering").failed
    assert message in outcome.message
