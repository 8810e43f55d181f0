"""`primax check` sees every kind of rule: one that raises, and one that is wrong in a detail, make it red."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.core.primitives import (
    checkpoint_p,
    cond_p,
    custom_jvp_call_p,
    dot_general_p,
    jit_p,
    psum_p,
    random_bits_p,
)
from primax.extend.effects import Effect
from primax.extend.interpreters import ad, mlir
from primax.extend.testing import Outcome, Sample, iter_checks

X = np.float32([[0.3, -1.2, 0.7], [1.1, 0.45, -0.6]])


def wave(kind: str, rule: Any) -> core.Primitive:
    """A primitive with the sound rules of a wave, except one."""
    rules: dict[str, Any] = {
        "impl": lambda x: pnp.sin(x) * 2,
        "abstract_eval": derive.from_impl,
        "jvp": lambda p, t: (wave_p[0].bind(p[0]), ad.instantiate_zeros(t[0]) * pnp.cos(p[0]) * 2),
        "batch": derive.from_impl,
        "lowering": derive.from_impl,
        "makes_nan": False,
        "sharding": "... -> ...",
    }
    if kind in ("effectful_abstract_eval", "axis_batch"):
        rules[{"effectful_abstract_eval": "abstract_eval", "axis_batch": "batch"}[kind]] = None
    if kind == "impl":
        rules |= {"abstract_eval": lambda x: x, "batch": lambda a, d: (wave_p[0].bind(a[0]), d[0])}
        rules["lowering"] = mlir.lower_fun(lambda x: pnp.sin(x) * 2, multiple_results=False)
    if kind == "transpose":
        rules |= {"impl": lambda x: 2 * x, "jvp": derive.linear}
    wave_p[:] = [define_primitive("wave", **{**rules, kind: rule}, samples=[Sample([X])])]
    return wave_p[0]


wave_p: list[core.Primitive] = []


@dataclass(frozen=True)
class Wrong:
    """A rule that is wrong in a detail.

    Attributes:
      make: makes it from the right rule of `primitive`; the rule of a wave is made without one.
      checks: the checks that may find it.
      primitive: the primitive, whose samples the kit takes; None for a wave.
    """

    make: Callable[[Any], Any]
    checks: tuple[str, ...]
    primitive: Any = None


def _doubled(right: Any) -> Any:
    """An interpret rule that doubles the last value that it gets."""

    def rule(interpreter: Any, eqn: Any, *values: Any) -> Any:
        box = type(values[0])
        return right(interpreter, eqn, *values[:-1], box(values[-1].array * 2))

    return rule


class Unseen(Effect):
    """An effect that no program has."""


WRONG = {
    "impl": Wrong(lambda _: lambda x: np.sin(x) * np.float32(2.01), ("lowering",)),
    "abstract_eval": Wrong(lambda _: lambda x: x.update(weak_type=True), ("weak_types", "abstract_eval")),
    "effectful_abstract_eval": Wrong(lambda _: lambda x: (x.update(dtype=np.dtype("f2")), set()), ("abstract_eval",)),
    "jvp": Wrong(lambda _: lambda p, t: (pnp.sin(p[0]) * 2, ad.instantiate_zeros(t[0]) * pnp.cos(p[0])), ("jvp",)),
    "transpose": Wrong(lambda _: lambda ct, x: [2.01 * ct], ("transpose",)),
    "batch": Wrong(lambda _: lambda a, d: (pnp.sin(a[0]) * 2, 0), ("batch",)),
    "axis_batch": Wrong(lambda _: lambda axis, a, d: (pnp.sin(a[0]) * 2, 0), ("batch",)),
    "lowering": Wrong(lambda _: mlir.lower_fun(lambda x: pnp.sin(x), multiple_results=False), ("lowering",)),
    "sharding": Wrong(lambda _: "i j -> j i", ("sharding",)),
    "makes_nan": Wrong(lambda _: False, ("makes_nan",), core.primitives["log"]),
    "partial_eval": Wrong(
        lambda right: lambda trace, args, params: [-x for x in right(trace, args, params)],
        ("tape",),
        custom_jvp_call_p,
    ),
    "partial_eval_jaxpr": Wrong(
        lambda right: lambda unknown, eqn: (None, eqn, [not x for x in right(unknown, eqn)[2]]),
        ("partial_eval",),
        checkpoint_p,
    ),
    "dce": Wrong(lambda right: lambda used, eqn: (right(used, eqn)[0][::-1], right(used, eqn)[1]), ("dce",), cond_p),
    "staging": Wrong(
        lambda right: lambda trace, args, params: right(trace, args, params)[::-1],
        ("lowering", "abstract_eval", "program"),
        custom_jvp_call_p,
    ),
    "check": Wrong(lambda right: lambda *args, **params: (right(*args, **params)[0], {Unseen()}), ("program",), jit_p),
    "print": Wrong(lambda right: lambda params: {**right(params), "precision": "highest"}, ("print",), dot_general_p),
    "named_axes": Wrong(lambda right: lambda **params: (), ("named_axes",), psum_p),
    "variance": Wrong(lambda right: lambda x, **params: [x.vma | {"j"}], ("variance",), psum_p),
    "close_over": Wrong(
        lambda right: lambda args, params: (list(right(args, params)[0])[::-1], right(args, params)[1]),
        ("close_over",),
        jit_p,
    ),
    "interpret": Wrong(_doubled, ("interpret",), jit_p),
    "key_use": Wrong(lambda right: lambda uses, eqn, walk: walk.new(), ("key_use",), random_bits_p),
}


@contextmanager
def replaced(kind: str, primitive: Any, rule: Any) -> Iterator[None]:
    """A `with` block in which a primitive has another rule."""
    with warnings.catch_warnings():  # some kinds are experimental
        warnings.simplefilter("ignore")
        change = core.rule_tables[kind].register(primitive, rule, override=True)
    try:
        yield
    finally:
        core.rule_tables[kind].restore(change)


def failures(primitive: Any, only: tuple[str, ...] | None) -> list[Outcome]:
    checks = list(iter_checks(primitive, only=only))
    cases = list(dict.fromkeys(check.case for check in checks if check.case is not None))[:2]
    outcomes = [check.run() for check in checks if check.case is None or check.case in cases]
    return [outcome for outcome in outcomes if outcome.status == "failed"]


def raising(*args: Any, **params: Any) -> Any:
    return 1 / 0


@pytest.mark.parametrize("kind", WRONG)
def test_a_rule_that_raises_is_found_whatever_its_kind(kind):
    wrong = WRONG[kind]
    if wrong.primitive is None:
        found = failures(wave(kind, raising), wrong.checks)
    else:
        with replaced(kind, wrong.primitive, raising):
            found = failures(wrong.primitive, (*wrong.checks, "samples"))
    assert any("division by zero" in outcome.message for outcome in found)


@pytest.mark.parametrize("kind", WRONG)
def test_a_rule_that_is_wrong_in_a_detail_is_found_whatever_its_kind(kind):
    wrong = WRONG[kind]
    if wrong.primitive is None:
        found = failures(wave(kind, wrong.make(None)), wrong.checks)
    else:
        right = core.rule_tables[kind][wrong.primitive]
        with replaced(kind, wrong.primitive, wrong.make(right)):
            found = failures(wrong.primitive, wrong.checks)
    assert any(kind in outcome.rules for outcome in found), found


def test_every_kind_of_primax_is_among_these():
    of_references = {"discharge"}  # samples hold no references: tests/plugins/test_state.py
    assert WRONG.keys() | of_references == {kind for kind, table in core.rule_tables.items() if table.check is None}
