"""Which failures of a primitive are consequences of an earlier one: by experiment, and not by the names of checks.

A failure is a consequence if it is the same error of the same rule, or if the check passes once the fault of the
earlier failure is repaired. A repair is narrow: if values were wrong, it corrects values but leaves types and errors of
the rule as they are, so that a second fault of the same rule still shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core.avals import ShapedArray, get_aval
from primax.core.cache import epoch
from primax.core.errors import MissingRuleError, RuleError
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.extend import derive
from primax.extend.interpreters.ad import add_tangents, instantiate_zeros, linear_jvp
from primax.extend.stablehlo.rules import lower_fun
from primax.extend.testing.case import Case
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.statements import aspect_of, statement_of
from primax.extend.testing.values import double
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.eval import apply_primitive
from primax.interpreters.tangents import Zero

__all__ = ["Failure", "Findings", "replaced_rule"]

Rule = Callable[..., Any]
Run = Callable[[Case], None]
Repair = Mapping[Any, Rule | None]  # by the keys of a table: the repaired rules, None to do without


class Failure:
    """A check that failed.

    Args:
      label: the primitive, the sample and the check.
      run: the check.
      case: the primitive with the sample.
      error: `Failed`, or the exception of a rule.
      kinds: the kinds of rules that may be wrong, the likeliest first.
    """

    def __init__(self, label: str, run: Run, case: Case, error: Exception, kinds: tuple[str, ...]) -> None:
        self.label = label
        self.run = run
        self.case = case
        self.kinds = kinds
        raised = error.__cause__ if isinstance(error, Failed) else error
        self.aspect = "raises" if raised is not None else aspect_of(str(error))
        self.irregular = label.endswith("::batch_sizes")
        if isinstance(raised, RuleError):  # primax refuses the result of a rule
            aspect = aspect_of(str(raised))
            self.aspect = "shape" if aspect == "values" else aspect
            if " its abstract_eval rule" in str(raised):  # either rule may be wrong
                self.kinds = tuple(dict.fromkeys((*kinds, "abstract_eval")))
        self.raised = raised if self.aspect == "raises" else None
        parts = error.parts if isinstance(error, Failed) else (error,)
        self.statements = {statement_of(part) for part in parts}
        self.statement = statement_of(parts[0])
        self.missing = () if not isinstance(error, Failed) else error.kinds if "there is no" in error.text else ()
        self.repairs: dict[str, Repair | None] = {}  # by kind; None if there is none

    @property
    def kind(self) -> str:
        """The kind of the rule to look at first; empty if it is not known."""
        return self.kinds[0] if self.kinds else ""

    def is_same_as(self, other: Failure) -> bool:
        """Whether it is the same error of the same rule as an earlier one."""
        if isinstance(self.raised, MissingRuleError) and self.kind in other.missing:
            return True
        return self.kind == other.kind and self.statements <= other.statements

    def passes_with(self, cause: Failure, kind: str) -> bool:
        """Whether this check passes once the fault of a rule, as an earlier failure showed it, is repaired."""
        if kind == "jvp" and "transpose" in self.kinds and self.case.has("transpose") and not cause.keeps_transpose:
            return False  # the repaired rule would not call the transpose rule, which may be wrong
        repair = cause.repair_of(kind)
        return repair is not None and _passes(self, kind, repair)

    def repair_of(self, kind: str) -> Repair | None:
        """Rules in place of those of a kind, with which this check passes; None if there are none."""
        if kind not in self.repairs:
            tried = (repair for repair in _repairs(self, kind) if _passes(self, kind, repair))
            self.repairs[kind] = next(tried, None)
        return self.repairs[kind]

    @property
    def keeps_transpose(self) -> bool:
        """Whether the repaired JVP rule binds the primitive on tangents, so that its transpose rule is called."""
        repair = self.repair_of("jvp")
        return repair is not None and all(getattr(rule, "binds", False) for rule in repair.values())


class Findings:
    """The failures of one primitive so far that are not consequences of others."""

    def __init__(self) -> None:
        self.causes: list[Failure] = []

    def add(self, failure: Failure) -> tuple[str, str]:
        """Add a failure.

        Returns:
          The label of the earlier failure that explains it, and how, in words; empty if there is none.
        """
        for cause in self.causes:
            if failure.is_same_as(cause):
                return cause.label, "the same error of the same rule"
        for cause in self.causes:
            if failure.passes_with(cause, cause.kind):
                return cause.label, f"the check passes once that fault of the {cause.kind} rule is repaired"
        self.causes.append(failure)
        if failure.raised is None:
            failure.kinds = _by_experiment(failure)
        return "", ""


def _by_experiment(failure: Failure) -> tuple[str, ...]:
    """The kinds of rules to look at; first the one whose repair lets the check pass.

    A wrong `dce` or `partial_eval_jaxpr` rule can make any check fail, and every program can do without them.
    """
    kinds = [kind for kind in failure.kinds if failure.case.has(kind) or kind == "lowering"]
    kinds += [kind for kind in ("dce", "partial_eval_jaxpr") if failure.case.has(kind) and kind not in kinds]
    if len(kinds) > 1:
        guilty = next((kind for kind in kinds if failure.repair_of(kind) is not None), None)
        if guilty is not None:
            return (guilty, *(kind for kind in failure.kinds if kind != guilty))
    return failure.kinds


def _passes(failure: Failure, kind: str, repair: Repair) -> bool:
    """Whether a check passes, and does not merely refuse to run, with other rules."""
    case = failure.case
    try:
        with _in_place(case.primitive, kind, repair):
            failure.run(Case(case.primitive, case.sample, case.label, case.siblings))
    except (Exception, NotRun):
        return False
    return True


@contextmanager
def _in_place(primitive: Primitive, kind: str, rules: Repair) -> Iterator[None]:
    """A `with` block in which a primitive has other rules of a kind."""
    functions = rule_tables[kind].functions
    before = {key: functions.get(key) for key in rules}
    _put(functions, rules, primitive)
    try:
        yield
    finally:
        _put(functions, before, primitive)


def _put(functions: dict[Any, Rule], rules: Mapping[Any, Rule | None], primitive: Primitive) -> None:
    for key, rule in rules.items():
        if rule is None:
            functions.pop(key, None)
        else:
            functions[key] = rule
    for cache in (primitive.types, primitive.programs, primitive._accepted):
        cache.clear()
    epoch.bump()


def replaced_rule(primitive: Primitive, kind: str, key: Any, rule: Rule) -> Any:
    """A `with` block in which a primitive has another rule."""
    return _in_place(primitive, kind, {key: rule})


def _repairs(failure: Failure, kind: str) -> Iterator[Repair]:
    """Ways to repair a rule: it is called, and the fault that the failure shows is corrected in its results."""
    case = failure.case
    primitive, functions = case.primitive, rule_tables[kind].functions if kind in rule_tables else {}
    keys = [key for key in functions if (key[0] if isinstance(key, tuple) else key) is primitive]
    if kind in _OPTIONAL and keys:
        yield dict.fromkeys(keys)
        return
    wrap = _WRAPPERS.get(kind)
    if wrap is None:
        return
    if kind == "impl":
        yield from ({key: rule} for key in keys for rule in _mended_impls(failure, functions[key]))
    for right in _right_rules(case, kind):
        yield {key: wrap(failure, functions[key], right) for key in keys}
    if kind in ("abstract_eval", "effectful_abstract_eval") and keys and failure.aspect == "weak":
        yield {key: _types(failure, functions[key], None) for key in keys}


_OPTIONAL = frozenset(("dce", "partial_eval_jaxpr", "sharding"))


def _mended_impls(failure: Failure, impl: Rule) -> Iterator[Rule]:
    """The impl rule on copies of its arguments, with equal results for equal arguments, or in the promised dtypes."""
    primitive = failure.case.primitive

    def on_copies(*args: Any, **params: Any) -> Any:
        return impl(*(np.array(x) if isinstance(x, Array | np.ndarray) else x for x in args), **params)

    def converted(*args: Any, **params: Any) -> Any:
        outs = _as_list(primitive, impl(*args, **params))
        avals, _ = primitive.result_types(tuple(map(get_aval, args)), params)
        return _as_returned(primitive, [_converted(x, aval) for x, aval in zip(outs, avals, strict=True)])

    if "read-only" in failure.statement or "must not change its arguments" in failure.statement:
        yield on_copies
    if "differs in a second call" in failure.statement:
        yield _remembering(primitive, impl)
    if failure.aspect == "dtype" and not failure.case.has_lowering:
        yield converted


def _remembering(primitive: Primitive, impl: Rule) -> Rule:
    """The impl rule with the same results for equal arguments of any dtype."""
    known: dict[Any, list[Any]] = {}

    def rule(*args: Any, **params: Any) -> Any:
        key = repr(params), tuple((np.shape(x), double(x).tobytes()) for x in args)
        if key not in known:
            known[key] = _as_list(primitive, impl(*args, **params))
        avals, _ = primitive.result_types(tuple(map(get_aval, args)), params)
        return _as_returned(primitive, [_converted(x, aval) for x, aval in zip(known[key], avals, strict=True)])

    return rule


def _converted(x: Any, aval: Any) -> Any:
    if not isinstance(aval, ShapedArray) or (np.iscomplexobj(x) and aval.dtype.kind != "c"):
        return x
    return np.asarray(x).astype(aval.dtype)


def _right_rules(case: Case, kind: str) -> Iterator[Rule]:
    """Rules of a kind that are right if the other rules of the primitive are."""
    primitive = case.primitive
    impl = rule_tables["impl"].functions.get(primitive)
    if kind == "impl":
        if case.has_lowering:
            yield lambda *args, **params: apply_primitive(primitive, *args, **params)
        return
    if kind == "batch":
        yield derive.loop.rule_for("", primitive, "batch", {}).function  # type: ignore[attr-defined]
        return
    if kind == "jvp" and case.has("transpose"):
        yield _flagged(linear_jvp(primitive))
        yield _flagged(_multilinear(primitive))
    if impl is None or rule_tables["impl"].sources[primitive].origin.startswith("derived"):
        return
    if kind == "lowering":
        yield lower_fun(lambda *args, **params: _as_list(primitive, impl(*args, **params)))
        return
    try:
        yield derive.from_impl.rule_for("", primitive, kind, {"impl": impl}).function  # type: ignore[attr-defined]
    except TypeError:
        return


def _as_list(primitive: Primitive, out: Any) -> list[Any]:
    return list(out) if primitive.multiple_results else [out]


def _as_returned(primitive: Primitive, outs: list[Any]) -> Any:
    return outs if primitive.multiple_results else outs[0]


def _multilinear(primitive: Primitive) -> Rule:
    """The JVP rule of a primitive that is linear in each argument."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        outs = _as_list(primitive, primitive.bind(*primals, **params))
        totals: list[Any] = [Zero.from_primal_value(x) for x in outs]
        for i, t in enumerate(tangents):
            if type(t) is not Zero:
                terms = primitive.bind(*(t if j == i else x for j, x in enumerate(primals)), **params)
                totals = [add_tangents(a, b) for a, b in zip(totals, _as_list(primitive, terms), strict=True)]
        return _as_returned(primitive, outs), _as_returned(primitive, totals)

    return rule


def _flagged(rule: Rule) -> Rule:
    """A JVP rule that binds its primitive on tangents."""
    rule.binds = True  # type: ignore[attr-defined]
    return rule


def _chosen(aspect: str, mine: Any, right: Any) -> Any:
    """One result of a rule: its own, or the right one if the fault is of this aspect."""
    if type(mine) is Zero or type(right) is Zero:
        if aspect == "zeros" or mine is None:
            return right
        return mine if type(right) is Zero and type(mine) is Zero else instantiate_zeros(right)
    if mine is None or right is None:
        return right
    one, other = get_aval(mine), get_aval(right)
    same = (one.shape, one.dtype) == (other.shape, other.dtype)
    return right if same == (aspect in ("values", "zeros")) else mine


def _call(failure: Failure, rule: Rule, right: Rule, *args: Any, **params: Any) -> Any:
    """The result of a rule; that of the right rule if it raises the error of the failure."""
    try:
        return rule(*args, **params)
    except Exception as error:
        if failure.raised is not None and statement_of(error) == failure.statement:
            return right(*args, **params)
        raise


def _marked(wrapper: Rule, rule: Rule, right: Rule) -> Rule:
    vars(wrapper).update(getattr(rule, "__dict__", {}))
    wrapper.binds = getattr(right, "binds", False)  # type: ignore[attr-defined]
    return wrapper


def _jvp(failure: Failure, rule: Rule, right: Rule) -> Rule:
    primitive = failure.case.primitive

    def wrapper(primals: Any, tangents: Any, **params: Any) -> Any:
        outs, moved = _call(failure, rule, right, primals, tangents, **params)
        outs, moved = _as_list(primitive, outs), _as_list(primitive, moved)
        right_outs, right_moved = right(primals, tangents, **params)
        if "primal" in failure.statement:
            outs = [_chosen(failure.aspect, *pair) for pair in zip(outs, _as_list(primitive, right_outs), strict=True)]
        pairs = zip(moved, _as_list(primitive, right_moved), strict=True)
        return _as_returned(primitive, outs), _as_returned(
            primitive, [_chosen(failure.aspect, *pair) for pair in pairs]
        )

    return _marked(wrapper, rule, right)


def _transpose(failure: Failure, rule: Rule, right: Rule) -> Rule:
    def wrapper(ct: Any, *args: Any, **params: Any) -> Any:
        cts = _call(failure, rule, right, ct, *args, **params)
        return [_chosen(failure.aspect, *pair) for pair in zip(cts, right(ct, *args, **params), strict=True)]

    return _marked(wrapper, rule, right)


def _batch(failure: Failure, rule: Rule, right: Rule) -> Rule:
    primitive = failure.case.primitive

    def wrapper(args: Any, dims: Any, **params: Any) -> Any:
        outs, places = _call(failure, rule, right, args, dims, **params)
        outs, places = _as_list(primitive, outs), _as_list(primitive, places)
        right_outs, _ = right(args, dims, **params)
        size = next(get_aval(x).shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        if (size < 2) == failure.irregular:
            return right_outs, _as_returned(primitive, [0] * len(outs))
        return _as_returned(primitive, outs), _as_returned(primitive, places)

    return _marked(wrapper, rule, right)


def _lowering(failure: Failure, rule: Rule, right: Rule) -> Rule:
    def wrapper(ctx: Any, *args: Any, **params: Any) -> Any:
        _call(failure, rule, right, ctx, *args, **params)
        return right(ctx, *args, **params)

    return _marked(wrapper, rule, right)


def _impl(failure: Failure, rule: Rule, right: Rule) -> Rule:
    primitive = failure.case.primitive

    def wrapper(*args: Any, **params: Any) -> Any:
        outs = _as_list(primitive, _call(failure, rule, right, *args, **params))
        rights = _as_list(primitive, right(*args, **params))
        return _as_returned(primitive, [_chosen(failure.aspect, *pair) for pair in zip(outs, rights, strict=True)])

    return _marked(wrapper, rule, right)


def _types(failure: Failure, rule: Rule, right: Rule | None) -> Rule:
    """A type rule with results that are right in one aspect; without a right rule, in their weak types."""
    primitive = failure.case.primitive

    def wrapper(*avals: Any, **params: Any) -> Any:
        returned = _call(failure, rule, right or rule, *avals, **params)
        effectful = primitive in rule_tables["effectful_abstract_eval"].functions
        types, *effects = returned if effectful else (returned,)
        mine = _as_list(primitive, types)
        if right is None:
            weak = all(getattr(aval, "weak_type", False) for aval in avals)
            fixed = [aval.update(weak_type=weak) if isinstance(aval, ShapedArray) else aval for aval in mine]
        else:
            others = right(*avals, **params)
            others = _as_list(primitive, others[0] if effectful else others)
            pairs = zip(mine, others, strict=True)
            fixed = others if failure.aspect == "raises" else [_like(failure.aspect, *pair) for pair in pairs]
        types = _as_returned(primitive, fixed)
        return (types, *effects) if effectful else types

    return _marked(wrapper, rule, rule)


def _like(aspect: str, mine: Any, right: Any) -> Any:
    """A type with one aspect of the right type."""
    if not (isinstance(mine, ShapedArray) and isinstance(right, ShapedArray)):
        return right
    if aspect == "weak":
        return mine.update(weak_type=right.weak_type)
    return mine.update(**{aspect: getattr(right, aspect)}) if aspect in ("shape", "dtype") else right


_WRAPPERS: dict[str, Callable[[Failure, Rule, Any], Rule]] = {
    "jvp": _jvp,
    "transpose": _transpose,
    "batch": _batch,
    "lowering": _lowering,
    "impl": _impl,
    "abstract_eval": _types,
    "effectful_abstract_eval": _types,
}
