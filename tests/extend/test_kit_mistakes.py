"""Mistakes that no other test of an author shows: each is told of by the check of the kit that is meant for it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import jaxlib.version
import numpy as np
import pytest

import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.sharding_rule import divided_by_rule
from primax.extend.testing import Report, Sample, iter_checks

X = np.float32([[0.3, -1.2, 0.7, 0.9], [1.1, 0.45, -0.6, -0.2]])
FROM_IMPL = dict.fromkeys(("abstract_eval", "jvp", "batch", "lowering"), derive.from_impl)
MODES = {"twice": 2, "thrice": 3}


class Way(Enum):
    """How numbers are read."""

    FORTH = 1
    BACK = 2


@dataclass(frozen=True)
class Power:
    """A parameter whose equality leaves out what matters."""

    name: str
    exponent: int = field(compare=False)


class Unsettled(Power):
    """One whose hash is that of the object."""

    __hash__ = object.__hash__


class Unequal(Power):
    """One that does not equal itself."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = Power.__hash__


_results: dict[Any, Any] = {}


def _remembered(x: Any) -> Any:
    """An impl that keeps its results by the shapes of its arguments."""
    return _results.setdefault(np.shape(x), pnp.sin(x)) if isinstance(x, core.Array) else pnp.sin(x)


def _nearly_three() -> np.float32:
    return np.float32(3 + 1e-3 * np.random.uniform())


def lowered(fun: Any) -> Any:
    return mlir.lower_fun(fun, multiple_results=False)


def _transform_lowering(ctx: Any, x: Any) -> list[Any]:
    lengths = mlir.ir.DenseI64ArrayAttr.get([4])
    return [mlir.hlo.fft(x, mlir.hlo.FftTypeAttr.get("FFT"), lengths)]


TRANSFORM: dict[str, Any] = {
    "impl": pnp.fft.fft,
    "abstract_eval": lambda x: x.update(dtype=np.dtype(np.complex64)),
    "lowering": lambda ctx, x: _transform_lowering(ctx, mlir.hlo.convert(mlir.aval_to_ir_type(ctx.avals_out[0]), x)),
    "sharding": "i n! -> i n!",
}

MISTAKES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "a batch rule that is wrong for a truth value of no sample": (
        "batch",
        "differs from a loop over the elements",
        {
            "impl": lambda x, *, turned: pnp.flip(x) if turned else 3 * x,
            "parameters": {"turned": bool},
            "batch": lambda a, d, *, turned: (pnp.flip(a[0]) if turned else 3 * a[0], d[0]),
        },
        {"turned": False},
    ),
    "a batch rule that is wrong for a truth value that nobody has declared": (
        "batch",
        "turned=True",
        {
            "impl": lambda x, *, turned: pnp.flip(x) if turned else 3 * x,
            "batch": lambda a, d, *, turned: (pnp.flip(a[0]) if turned else 3 * a[0], d[0]),
        },
        {"turned": False},
    ),
    "a batch rule that is wrong for one of several choices": (
        "batch",
        "differs from a loop over the elements",
        {
            "impl": lambda x, *, mode: x * MODES[mode],
            "parameters": {"mode": lambda mode: mode in MODES},
            "batch": lambda a, d, *, mode: (a[0] * 3, d[0]),
        },
        {"mode": "thrice"},
    ),
    "a batch rule that is wrong for a member of an enumeration": (
        "batch",
        "differs from a loop over the elements",
        {
            "impl": lambda x, *, way: x if way is Way.FORTH else x[::-1],
            "parameters": {"way": Way},
            "batch": lambda a, d, *, way: (a[0] if way is Way.FORTH else a[0][::-1], d[0]),
        },
        {"way": Way.FORTH},
    ),
    "a batch rule that is wrong for another axis": (
        "batch",
        "axis=1",
        {
            "impl": lambda x, *, axis: pnp.cumsum(x, axis),
            "parameters": {"axis": int},
            "batch": lambda a, d, *, axis: (pnp.cumsum(pnp.moveaxis(a[0], d[0], 0), 1), 0),
        },
        {"axis": 0},
    ),
    "a derivative that is right for one exponent": (
        "jvp",
        "differs from central differences",
        {
            "impl": lambda x, *, k: x**k,
            "parameters": {"k": range(1, 9).__contains__},
            "jvp": lambda p, t, *, k: (p[0] ** k, k * p[0] * ad.instantiate_zeros(t[0])),
        },
        {"k": 2},
    ),
    "a lowering of another function, with nothing to compare with": (
        "reference",
        "nothing to compare with: there is no impl rule, and no sample has a reference",
        {"impl": None, "abstract_eval": lambda x: x, "jvp": None, "batch": None, "lowering": lowered(pnp.sinh)},
        {},
    ),
    "parameters that are equal and mean something else": (
        "equality",
        "Equal parameters share programs, so Power.__eq__ and Power.__hash__ must depend on exponent",
        {"impl": lambda x, *, power: x**power.exponent},
        {"power": Power("cube", 3)},
    ),
    "equal parameters with other hashes": (
        "equality",
        "so each is compiled anew; Unsettled.__hash__ must be a function of what Unsettled.__eq__ compares",
        {"impl": lambda x, *, power: x**power.exponent},
        {"power": Unsettled("cube", 3)},
    ),
    "parameters within a tuple that are equal and mean something else": (
        "equality",
        "must depend on exponent",
        {"impl": lambda x, *, powers: x ** powers[1].exponent},
        {"powers": (2, Power("cube", 3))},
    ),
    "a parameter that does not equal itself": (
        "equality",
        "must equal itself; Unequal.__eq__ returns False",
        {"impl": lambda x, *, power: x**power.exponent},
        {"power": Unequal("cube", 3)},
    ),
    "nondiff of the argument that has a derivative": (
        "nondiff",
        "the results change smoothly with argument 0, which nondiff declares to have no derivative",
        {"impl": lambda x: 3 * x, "nondiff": (0,)},
        {},
    ),
    "a jvp rule that draws random numbers": (
        "global_state",
        "the program of the jvp rule differs after other samples have run and other random numbers were drawn",
        {"impl": lambda x: 3 * x, "jvp": lambda p, t: (3 * p[0], ad.instantiate_zeros(t[0]) * _nearly_three())},
        {},
    ),
    "an impl that draws random numbers": (
        "global_state",
        "of the impl rule differs after other samples have run",
        {"impl": lambda x: x * _nearly_three()},
        {},
    ),
    "an impl that remembers results by shape": (
        "global_state",
        "of the impl rule for other arguments of these types differs from that of the lowering",
        {"impl": _remembered, "abstract_eval": lambda x: x, "lowering": lowered(pnp.sin), "jvp": None, "batch": None},
        {},
    ),
    "a sharding rule of a sum over the divided dimension": (
        "sharding",
        "differs if these dimensions are divided",
        {"impl": lambda x: x - pnp.sum(x, axis=1, keepdims=True), "sharding": "i j -> i j"},
        {},
    ),
    "a sharding rule that XLA does not use": (
        "sharding",
        "XLA does not use the rule: a program whose operands are divided along 'i' of size 2 in 2 moves them between",
        TRANSFORM,
        {},
    ),
    "a lowering for an absent platform that raises": (
        "platforms",
        "the rule lowering[cuda] fails: ZeroDivisionError",
        {"impl": lambda x: 3 * x, "lowering": {None: derive.from_impl, "cuda": lambda ctx, x: [1 / 0]}},
        {},
    ),
    "a lowering for an absent platform of another function": (
        "platforms",
        "of the rule lowering[gpu], which was built for cuda and run on cpu, differs",
        {"impl": lambda x: 3 * x, "lowering": {None: derive.from_impl, "gpu": lowered(lambda x: 3.01 * x)}},
        {},
    ),
    "a lowering for other platforms of another function, beside one for this": (
        "platforms",
        "of the rule lowering, which was built for tpu and run on cpu, differs",
        {"impl": lambda x: 3 * x, "lowering": {None: lowered(lambda x: 3.01 * x), "cpu": derive.from_impl}},
        {},
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_by_the_check_that_is_meant_for_it(name):
    if name == "a sharding rule that XLA does not use" and jaxlib.version.__version_info__ >= (0, 11):
        pytest.skip("newer XLA divides Fourier transforms")
    check, said, rules, params = MISTAKES[name]
    found = failures(check, rules, params)
    assert any(said in f"{outcome.label} {outcome.message}" for outcome in found), found


def failures(check: str, rules: dict[str, Any], params: dict[str, Any]) -> list[Any]:
    p = define_primitive("mistaken", **{**FROM_IMPL, **rules}, samples=[Sample([X], params)])
    return Report([each.run() for each in iter_checks(p, only=[check])]).failed


def test_what_says_why_nothing_can_be_compared_is_not_red():
    rules = {**MISTAKES["a lowering of another function, with nothing to compare with"][2]}
    p = define_primitive("mistaken", **rules, samples=[Sample([X], skip={"reference": "there is no other program"})])
    (outcome,) = [check.run() for check in iter_checks(p, only=["reference"]) if check.case is not None]
    assert outcome.message == "skipped by the sample: there is no other program"


def test_a_rule_replaces_the_division_by_xla_on_request():
    rules = {**TRANSFORM, "sharding": divided_by_rule("i n! -> i n!")}
    assert not failures("sharding", rules, {})


def test_the_remedy_for_values_that_the_kit_does_not_know_is_told():
    p = define_primitive("mistaken", **FROM_IMPL, impl=lambda x, *, k: x * k, samples=[Sample([X], {"k": 2})])
    (outcome,) = [check.run() for check in iter_checks(p, only=["parameters"]) if check.case is not None]
    assert "with define_primitive(..., parameters=) the kit draws some" in outcome.message


ON_ONE_DEVICE = """
import numpy as np
import primax as px
import primax.numpy as pnp
from primax.extend import define_primitive, derive
from primax.extend.testing import Report, Sample, iter_checks
p = define_primitive(
    "mistaken", impl=lambda x: x - pnp.sum(x), abstract_eval=lambda x: x, lowering=derive.from_impl,
    sharding="i -> i", samples=[Sample([np.arange(4.0)])],
)
(outcome,) = Report([check.run() for check in iter_checks(p, only=["sharding"])]).failed
print(len(px.devices()), outcome.message)
"""


def test_a_process_with_one_device_checks_sharding_rules_on_eight(monkeypatch):
    monkeypatch.setenv("PRIMAX_NUM_CPU_DEVICES", "1")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    output = subprocess.run([sys.executable, "-c", ON_ONE_DEVICE], capture_output=True, text=True, check=True).stdout
    assert output.startswith("1 mistaken (no plugin), check 'sharding': result 0 differs if these")
