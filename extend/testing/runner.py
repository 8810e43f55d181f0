"""Running checks, by their names: of one sample, of a primitive, or of all primitives of a plugin."""

from __future__ import annotations

import inspect
import itertools
import json
import time
import unittest
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from primax.core.arguments import nearest
from primax.core.diagnostics import name_of_key
from primax.core.primitive import Primitive
from primax.core.rules import load_plugins, rule_tables
from primax.extend import manifests
from primax.extend.core.samples import Sample, samples_of
from primax.extend.host import metadata
from primax.extend.host.plugin_host import host
from primax.extend.options import traceback_filtering
from primax.extend.testing.batching import check_batch, check_batch_sizes
from primax.extend.testing.blame import blamed_kinds, foreign_rule, place_of, rules_with_places
from primax.extend.testing.case import Case
from primax.extend.testing.causes import Failure, Findings
from primax.extend.testing.closing import check_close_over
from primax.extend.testing.composition import (
    check_grad_of_jit,
    check_grad_of_vmap,
    check_jvp_of_vmap,
    check_vmap_of_grad,
    check_vmap_of_jvp,
)
from primax.extend.testing.core_dimensions import check_core_dimensions
from primax.extend.testing.declared import check_nondiff
from primax.extend.testing.derivatives import (
    check_active_arguments,
    check_complex_derivatives,
    check_jvp,
    check_linearity,
    check_second_derivatives,
    check_symbolic_zeros,
    check_transpose,
)
from primax.extend.testing.evaluation import (
    check_determinism,
    check_impl,
    check_inputs_unchanged,
    check_lowering,
    check_parameters,
    check_reference,
)
from primax.extend.testing.forms import check_empty, check_numbers
from primax.extend.testing.hazards import check_key_use, check_makes_nan
from primax.extend.testing.interpretation import check_interpret
from primax.extend.testing.kinds import check_of_kind, further_kinds, statement_of_kind
from primax.extend.testing.overrides import check_override, overridden
from primax.extend.testing.parameters import check_equality, drawn_samples
from primax.extend.testing.platforms import check_platforms
from primax.extend.testing.precision import check_linear_arguments, check_own_dtype
from primax.extend.testing.printing import check_print
from primax.extend.testing.purity import check_global_state
from primax.extend.testing.references import check_discharge, of_contents
from primax.extend.testing.refusals import check_refusals
from primax.extend.testing.registration import check_effects, check_program, check_registration
from primax.extend.testing.report import Failed, NotRun, Outcome, Progress, Report
from primax.extend.testing.scopes import check_named_axes, check_variance
from primax.extend.testing.sharding import check_sharding
from primax.extend.testing.splitting import check_dce, check_partial_eval, check_tape
from primax.extend.testing.types import (
    check_abstract_eval,
    check_bad_input,
    check_dtypes,
    check_shapes,
    check_weak_types,
)
from primax.extend.testing.user_types import of_arrays

__all__ = ["CHECKS", "Check", "check_plugin", "check_primitive", "conformance", "iter_checks"]

_FUNCTIONS: dict[str, tuple[Callable[[Case], None], tuple[str, ...]]] = {
    "registration": (check_registration, ()),
    "abstract_eval": (check_abstract_eval, ("abstract_eval", "effectful_abstract_eval")),
    "program": (check_program, ("abstract_eval", "effectful_abstract_eval", "check", "staging")),
    "effects": (check_effects, ("effectful_abstract_eval", "abstract_eval")),
    "lowering": (check_lowering, ("lowering",)),
    "platforms": (check_platforms, ("lowering",)),
    "impl": (check_impl, ("impl",)),
    "reference": (check_reference, ("lowering", "impl")),
    "determinism": (check_determinism, ("lowering", "impl")),
    "core_dimensions": (check_core_dimensions, ("impl", "lowering", "abstract_eval")),
    "inputs_unchanged": (check_inputs_unchanged, ("impl",)),
    "parameters": (check_parameters, ("lowering",)),
    "equality": (check_equality, ()),
    "discharge": (check_discharge, ("discharge",)),
    "global_state": (check_global_state, ("impl", "lowering")),
    "weak_types": (check_weak_types, ("abstract_eval",)),
    "dtypes": (check_dtypes, ("abstract_eval", "lowering")),
    "shapes": (check_shapes, ("abstract_eval", "lowering")),
    "bad_input": (check_bad_input, ("abstract_eval",)),
    "refusals": (check_refusals, ("abstract_eval",)),
    "print": (check_print, ("print",)),
    "interpret": (check_interpret, ("interpret",)),
    "close_over": (check_close_over, ("close_over",)),
    "named_axes": (check_named_axes, ("named_axes",)),
    "variance": (check_variance, ("variance",)),
    "makes_nan": (check_makes_nan, ("makes_nan",)),
    "key_use": (check_key_use, ("key_use",)),
    "dce": (check_dce, ("dce",)),
    "sharding": (check_sharding, ("sharding",)),
    "partial_eval": (check_partial_eval, ("partial_eval_jaxpr",)),
    "tape": (check_tape, ("partial_eval",)),
    "nondiff": (check_nondiff, ("jvp",)),
    "jvp": (check_jvp, ("jvp",)),
    "linearity": (check_linearity, ("jvp",)),
    "active_arguments": (check_active_arguments, ("jvp",)),
    "symbolic_zeros": (check_symbolic_zeros, ("jvp",)),
    "transpose": (check_transpose, ("transpose", "jvp")),
    "linear_arguments": (check_linear_arguments, ("transpose",)),
    "own_dtype": (check_own_dtype, ("jvp", "transpose")),
    "second_derivatives": (check_second_derivatives, ("jvp",)),
    "complex_derivatives": (check_complex_derivatives, ("jvp", "transpose")),
    "batch": (check_batch, ("batch", "axis_batch")),
    "batch_sizes": (check_batch_sizes, ("batch", "axis_batch")),
    "vmap_of_jvp": (check_vmap_of_jvp, ("jvp", "batch")),
    "jvp_of_vmap": (check_jvp_of_vmap, ("batch", "jvp")),
    "vmap_of_grad": (check_vmap_of_grad, ("jvp", "transpose", "batch")),
    "grad_of_vmap": (check_grad_of_vmap, ("batch", "jvp", "transpose")),
    "grad_of_jit": (check_grad_of_jit, ("jvp", "transpose")),
    "numbers": (check_numbers, ("impl", "lowering", "jvp", "transpose", "batch", "axis_batch")),
    "empty": (check_empty, ("jvp", "transpose", "batch", "axis_batch")),
    "override": (check_override, ()),
}

_NOT_WHERE_SINGULAR = frozenset(
    (
        "dtypes",
        "jvp",
        "linearity",
        "active_arguments",
        "transpose",
        "linear_arguments",
        "own_dtype",
        "second_derivatives",
        "complex_derivatives",
    )
)

CHECKS: dict[str, str] = {
    "metadata": f"The file {metadata.FILE} of a plugin's package lists the entries of the plugin.",
    "samples": "The primitive has samples.",
    **{name: inspect.getdoc(function) or "" for name, (function, _) in _FUNCTIONS.items()},
}
"""The statement that each check tests, by its name."""


_IN_FORWARD_MODE = frozenset(
    (
        "jvp",
        "linearity",
        "active_arguments",
        "symbolic_zeros",
        "second_derivatives",
        "complex_derivatives",
        "vmap_of_jvp",
        "jvp_of_vmap",
    )
)


@dataclass(frozen=True, eq=False, slots=True)
class Check:
    """One check of one sample, ready to run.

    Attributes:
      primitive: the primitive; None for a check of a plugin.
      name: the check's name.
      case: the primitive with the sample; None for a check without a sample, whose outcome is known.
      error: the fault that a check without a sample found; empty if there is none.
      of: the name of the plugin, for a check of a plugin.
      hint: why there is nothing to check; empty if there is something.
      function: runs the check of a sample.
      kinds: the kinds of rules that it tests.
      last: whether it is the last check of its sample.
      findings: the failures of the primitive so far, which may explain others.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.testing import iter_checks
      >>> check = next(iter_checks(neg_p, only=["jvp"]))
      >>> check.primitive, check.name, check.run().status
      (neg, 'jvp', 'passed')
    """

    primitive: Any
    name: str
    case: Case | None
    error: str = ""
    of: str = ""
    hint: str = ""
    function: Callable[[Case], None] = lambda case: None
    kinds: tuple[str, ...] = ()
    last: bool = False
    findings: Findings = field(default_factory=Findings, repr=False)

    @property
    def label(self) -> str:
        """The primitive, the sample and the check, such as `kepler[0]::jvp`."""
        return self._outcome(_Attempt(""), 0.0).label

    def run(self) -> Outcome:
        """Run the check; this never raises an error."""
        start = time.perf_counter()
        with traceback_filtering("off"):  # lines of primax say which rule has raised an error
            attempt = self._attempt()
        if self.case is not None and self.last:
            self.case.forget()
        return self._outcome(attempt, time.perf_counter() - start)

    def _outcome(self, attempt: _Attempt, seconds: float) -> Outcome:
        sample = "" if self.case is None else self.case.label
        status, message, rules, cause = attempt
        return Outcome(self.name_of_target, self.plugin, sample, self.name, status, message, seconds, rules, cause)

    @property
    def name_of_target(self) -> str:
        """The name of the primitive, or of a plugin without primitives."""
        return self.plugin if self.primitive is None else self.primitive.name

    @property
    def plugin(self) -> str:
        """The name of the plugin; empty if there is none."""
        return self.of if self.primitive is None else _plugin(self.primitive)

    def _attempt(self) -> _Attempt:
        """Run the check's function, unless the check does not apply."""
        if self.case is None:
            if self.error:
                return _Attempt("failed", self.error)
            return _Attempt("not run", self.hint) if self.hint else _Attempt("passed")
        reason = self.case.sample.skip.get(self.name)
        if reason is not None:
            return _Attempt("not run", f"skipped by the sample: {reason}")
        if self.case.sample.singular and self.name in _NOT_WHERE_SINGULAR:
            return _Attempt("not run", "the sample is a singular point")
        if self.case.reverse_only and self.name in _IN_FORWARD_MODE:
            return _Attempt("not run", "its derivative is for reverse mode only")
        function, kinds = self.function, self.kinds
        try:
            function(self.case)
        except NotRun as reason_:
            return _Attempt("not run", str(reason_))
        except Failed as failure:
            return self._failed(failure.text, function, failure, failure.kinds or kinds)
        except Exception as error:
            return self._failed(f"{type(error).__name__}: {error}", function, error, kinds)
        return _Attempt("passed")

    def _failed(self, text: str, run: Callable[[Case], None], error: Exception, kinds: tuple[str, ...]) -> _Attempt:
        """The failure, with the rules to look at, and with its cause if that is known."""
        assert self.case is not None
        raised = error.__cause__ if isinstance(error, Failed) else error
        kinds = blamed_kinds(self.primitive, kinds, raised)
        failure = Failure(self.label, run, self.case, error, kinds)
        cause, how = self.findings.add(failure)
        lines = [f"{self.primitive} ({_plugin(self.primitive) or 'no plugin'}), check {self.name!r}: {text}"]
        if place := place_of(raised):
            lines.append(f"raised at {place}")
        if (foreign := foreign_rule(self.primitive, raised)) is not None:
            kind, key = foreign
            provenance = rule_tables[kind].provenance[key]
            lines.append(f"look at the {kind} rule of {name_of_key(key)}, {provenance}, which raised it")
        for shown, provenance in rules_with_places(self.primitive, failure.kinds):
            lines.append(f"look at its {shown} rule, {provenance}")
        if cause:
            lines.append(f"a consequence of {cause}: {how}")
        return _Attempt("failed", "\n".join(lines), failure.kinds, cause)


class _Attempt(NamedTuple):
    """The result of a check, as in `Outcome`."""

    status: str
    message: str = ""
    rules: tuple[str, ...] = ()
    cause: str = ""


def _plugin(primitive: Primitive) -> str:
    return primitive.plugin or ""


def _checks_of(primitive: Primitive, samples: list[Sample], kinds: Collection[str] | None = None) -> Iterator[Check]:
    """The checks of a primitive with some samples; with kinds of rules, only the checks of these."""
    samples = [of_arrays(of_contents(primitive, sample)) for sample in samples]
    cases = (Case(primitive, sample, sample.name or str(i), samples) for i, sample in enumerate(samples))
    drawn = (Case(primitive, sample, sample.name, [*samples, sample]) for sample in drawn_samples(primitive, samples))
    functions = _functions_of(primitive, kinds)
    of_drawn = {name: entry for name, entry in functions.items() if name not in _NOT_OF_DRAWN}
    findings = Findings()
    for case in itertools.chain(cases, drawn):
        entries = functions if any(case.sample is sample for sample in samples) else of_drawn
        last = list(entries)[-1] if entries else ""
        for name, (function, blamed) in entries.items():
            yield Check(primitive, name, case, function=function, kinds=blamed, last=name == last, findings=findings)


_NOT_OF_DRAWN = frozenset(("parameters", "equality"))  # further values of a parameter need not change the results


def _functions_of(primitive: Primitive, kinds: Collection[str] | None) -> dict[str, _Function]:
    """The checks that apply to a primitive, by name: those of primax, and those of further kinds of its rules."""
    functions = {
        name: (function, blamed)
        for name, (function, blamed) in _FUNCTIONS.items()
        if name != "override" and (kinds is None or not {*blamed, *_ALSO_OF.get(name, ())}.isdisjoint(kinds))
    }
    if any(kinds is None or table.kind in kinds for table, _ in overridden(primitive)):
        functions["override"] = _FUNCTIONS["override"]
    if not primitive.mutable_operands and primitive not in rule_tables["discharge"].functions:
        functions.pop("discharge", None)
    for kind in further_kinds():
        table = rule_tables[kind]
        if primitive in table.functions and (kinds is None or kind in kinds):
            functions[_name_of_kind(kind)] = check_of_kind(kind), (kind,)
    for kind in kinds or ():
        if not any(kind in {*blamed, *_ALSO_OF.get(name, ())} for name, (_, blamed) in functions.items()):
            functions[_name_of_kind(kind)] = check_of_kind(kind), (kind,)
    return functions


_Function = tuple[Callable[[Case], None], tuple[str, ...]]

# Kinds of rules that a check also uses, although it does not blame them first.
_ALSO_OF = {"lowering": ("impl",), "dtypes": ("impl",), "shapes": ("impl",), "weak_types": ("impl",)}


def _name_of_kind(kind: str) -> str:
    return f"{kind}_rule" if kind in CHECKS else kind


def known_checks() -> dict[str, str]:
    """The statements that checks test, by the names of the checks: primax's, and those of further kinds of rules."""
    return {**CHECKS, **{_name_of_kind(kind): statement_of_kind(kind) for kind in further_kinds()}}


def _checks(primitive: Primitive, kinds: Collection[str] | None = None) -> Iterator[Check]:
    """The check that a primitive has samples, and then its checks with each sample; see `_checks_of`."""
    try:
        samples = samples_of(primitive)
    except Exception as error:
        at = f"\nraised at {place}" if (place := place_of(error)) else ""
        yield Check(primitive, "samples", None, f"its samples cannot be made: {type(error).__name__}: {error}{at}")
        return
    if misnamed := _misnamed(samples):
        yield Check(primitive, "samples", None, misnamed)
        return
    if not samples:
        who = f"{primitive} ({_plugin(primitive) or 'no plugin'})"
        hint = f"registry.samples({primitive.name}_p, Sample(args, params)) adds some"
        yield Check(primitive, "samples", None, f"{who} has no samples; {hint}")
        return
    yield Check(primitive, "samples", None)
    yield from _checks_of(primitive, samples, kinds)


def _misnamed(samples: Sequence[Sample]) -> str:
    """What is wrong with the names of checks that samples skip, or nothing."""
    known = known_checks()
    unknown = sorted({name for sample in samples for name in sample.skip} - known.keys())
    return f"skip of a sample must name checks, got {unknown[0]!r}{nearest(unknown[0], known)}" if unknown else ""


def _flat(target: Any) -> list[Primitive | str]:
    """The names and primitives in any nested collections.

    Raises:
      TypeError: something else is there.
    """
    if isinstance(target, Primitive | str):
        return [target]
    if not isinstance(target, Iterable) or isinstance(target, dict | np.ndarray):
        raise TypeError(f"targets must be names of plugins, primitives, or lists of them, got {target!r}")
    return [leaf for item in target for leaf in _flat(item)]


class _Target(NamedTuple):
    """A target of checks.

    Attributes:
      primitive: a primitive; None for a plugin that has entered nothing.
      plugin: the name of the plugin, if one was named.
      kinds: for a primitive of another plugin, the kinds of the rules that the plugin gives to it; None for all.
    """

    primitive: Primitive | None
    plugin: str = ""
    kinds: frozenset[str] | None = None


def _targets(target: Primitive | str) -> list[_Target]:
    """The primitives of a plugin, and those of others that it gives rules to; or the one that is given."""
    if isinstance(target, Primitive):
        return [_Target(target)]
    record = host.record(target)
    kinds: dict[str, set[str]] = {}
    for rule in record.rules:
        if rule.name not in record.primitives:
            kinds.setdefault(rule.name, set()).add(rule.kind.partition("[")[0])
    own = [_Target(host.primitives[name], target) for name in record.primitives if name in host.primitives]
    others = [
        _Target(host.primitives[name], target, frozenset(given))
        for name, given in kinds.items()
        if name in host.primitives
    ]
    return own + others if own or others or record.entries else [_Target(None, target)]


def iter_checks(*targets: Any, only: Iterable[str] | None = None) -> Iterator[Check]:
    """All checks of some primitives, not run yet; the method `run` of each returns an `Outcome`.

    Args:
      targets: names of plugins, primitives, or lists of them.
      only: names of checks, or one name; by default all.

    Raises:
      PluginError: a plugin does not exist or is not active.
      TypeError: a target is neither.
      ValueError: a name in `only` is not a check.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.testing import iter_checks
      >>> checks = list(iter_checks(neg_p, only=["jvp"]))  # nothing has run yet
      >>> checks[0].name, checks[0].run().status
      ('jvp', 'passed')
    """
    chosen = _wanted(only)
    leaves = _flat(targets)
    for name in leaves:
        if isinstance(name, str):
            host.activate()
            host.activate_plugin(name)
            if "metadata" in chosen:
                yield _check_of_metadata(name)
    for target in [target for leaf in leaves for target in _targets(leaf)]:
        if target.primitive is None:
            yield Check(None, "samples", None, _NOTHING.format(target.plugin), target.plugin)
            continue
        for check in _checks(target.primitive, target.kinds):
            if check.name in chosen:
                yield check


def _check_of_metadata(name: str) -> Check:
    record = host.record(name)
    want = manifests.describe(record.entries)
    try:
        description = metadata.read(record.module, name)
    except ValueError as error:
        return Check(None, "metadata", None, f"{name}: {error}", name)
    if description is None:
        hint = f"there is no {metadata.FILE} in its package, so every program imports the plugin; the file would be: "
        return Check(None, "metadata", None, "", name, hint + json.dumps(want))
    want = {**manifests.flags(description), **want}
    if description != want:
        problem = f"{name}: {metadata.FILE} must be {json.dumps(want)}, got {description}"
        return Check(None, "metadata", None, problem, name)
    return Check(None, "metadata", None, "", name)


_NOTHING = (
    "{}: the plugin is active, but has entered nothing; did you forget definitions.enter(registry) in its "
    "primax_register, or registry=definitions in define_primitive?"
)


def _wanted(only: Iterable[str] | None) -> set[str]:
    known = known_checks()
    names = set(known if only is None else [only] if isinstance(only, str) else only)
    for name in sorted(names - known.keys()):
        raise ValueError(f"checks must be among {', '.join(known)}, got {name!r}{nearest(name, known)}")
    return names


def check_plugin(name: str, *, only: Iterable[str] | None = None, progress: Progress = lambda outcome: None) -> Report:
    """Check every primitive of a plugin with its samples.

    Args:
      name: the plugin's name.
      only: names of checks, or one name; by default all.
      progress: a function that is called with each outcome.

    Returns:
      A report, which includes failures; they raise no error.

    Raises:
      PluginError: there is no such plugin, or it is not active.
      ValueError: a name in `only` is not a check.

    Examples:
      >>> from primax.extend.testing import check_plugin
      >>> check_plugin("bitwise", only=["samples"]).failed
      []
      >>> check_plugin("bitwise", only=["speed"])
      Traceback (most recent call last):
          ...
      ValueError: checks must be among metadata, samples, registration, abstract_eval, program, effects, lowering,
      platforms, impl, reference, determinism, core_dimensions, inputs_unchanged, parameters, equality,
      discharge, global_state, weak_types, dtypes, shapes, bad_input, refusals, print, interpret, close_over, ...
    """
    return _report(iter_checks(name, only=only), progress)


def _report(checks: Iterable[Check], progress: Progress = lambda outcome: None) -> Report:
    outcomes = []
    for check in checks:
        outcomes.append(check.run())
        progress(outcomes[-1])
    return Report(outcomes)


def check_primitive(primitive: Primitive, /, *args: Any, **params: Any) -> Report:
    """Compare every rule of a primitive with a computation that does not use it.

    Args:
      primitive: the primitive.
      args: arguments to check it with, or `Sample`s. Without arguments and parameters its registered samples are used.
      params: its parameters.

    Returns:
      The report, if nothing failed.

    Raises:
      ConformanceError: a check failed; an `AssertionError` that lists all failures and has the `report`.
      TypeError: `primitive` is not a primitive, or samples and other arguments or parameters are given.
      ValueError: `skip` of a sample names no check.

    >>> import numpy as np
    >>> from primax.extend.core.primitives import sin_p
    >>> report = check_primitive(sin_p, np.array([0.3, -1.2]), accuracy=None)
    >>> len(report.failed)
    0
    """
    if not isinstance(primitive, Primitive):
        raise TypeError(f"check_primitive: primitive must be a Primitive, got {primitive!r}")
    load_plugins()
    if not args and not params:
        return _report(_checks(primitive)).require()
    are_samples = {isinstance(x, Sample) for x in args}
    if True in are_samples and (params or False in are_samples):
        raise TypeError("check_primitive: args must be Samples alone, or arguments and parameters of the primitive")
    samples = list(args) if True in are_samples else [Sample(args, params)]
    if misnamed := _misnamed(samples):
        raise ValueError(f"check_primitive: {misnamed}")
    return _report(_checks_of(primitive, samples)).require()


def conformance(*targets: Any, only: Iterable[str] | None = None) -> Callable[..., None]:
    """A test function that pytest runs once for each check, as in `test_rules = conformance("kepler")`.

    Args:
      targets: names of plugins, primitives, or lists of them.
      only: names of checks, or one name; by default all.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.testing import conformance
      >>> test_rules = conformance(neg_p, only=["jvp"])  # pytest runs it once for each check
      >>> callable(test_rules)
      True
    """
    chosen = only if only is None or isinstance(only, str) else tuple(only)

    def test(primax_check: Check) -> None:
        __tracebackhide__ = True
        outcome = primax_check.run()
        if outcome.status == "not run":
            raise unittest.SkipTest(outcome.message)
        Report([outcome]).require()

    test.primax_checks = lambda: iter_checks(*targets, only=chosen)  # type: ignore[attr-defined]
    return test
