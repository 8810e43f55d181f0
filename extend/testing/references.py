"""References among the operands of a primitive: its checks are those of a pure function of their contents.

The function makes references of contents, applies the primitive, and returns the results and the new contents of the
references that the primitive declares to write to. So all checks of values, derivatives and batching apply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from primax.core import config
from primax.core.avals import get_aval
from primax.core.effects import Mutates
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.core.trace import set_current_trace
from primax.extend.core.samples import Sample
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import default_rtol, difference
from primax.interpreters.runtime.eval import eval_trace

if TYPE_CHECKING:
    from primax.extend.testing.case import Case

__all__ = ["check_discharge", "of_contents", "refs_of", "with_new_contents", "written_operands"]


@dataclass(frozen=True, eq=False, slots=True)
class _Sample(Sample):
    """A sample with the contents of references as arguments.

    Attributes:
      refs: the types of the references, by position.
    """

    refs: Mapping[int, Any] = field(default_factory=dict)


def refs_of(sample: Sample) -> Mapping[int, Any]:
    """The types of the references for which a sample has contents, by position."""
    return sample.refs if isinstance(sample, _Sample) else {}


def of_contents(primitive: Primitive, sample: Sample) -> Sample:
    """A sample with the contents of its references as arguments; the sample itself if it has none."""
    types = {i: aval for i, aval in enumerate(map(get_aval, sample.args)) if aval.mutable}
    if not types:
        return sample
    args = [np.asarray(types[i].read(x)) if i in types else x for i, x in enumerate(sample.args)]
    reference = sample.reference
    if reference is not None:
        reference = _with_written(primitive, reference, types)
    given = {each.name: getattr(sample, each.name) for each in dataclasses.fields(Sample)}
    return _Sample(**{**given, "args": args, "reference": reference}, refs=types)


def _with_written(primitive: Primitive, reference: Callable[..., Any], types: Mapping[int, Any]) -> Callable[..., Any]:
    """A sample's reference, which changes the contents in place, as a function that returns the new contents too."""

    def run(*args: Any, **params: Any) -> list[Any]:
        args = tuple(np.array(x) if i in types else x for i, x in enumerate(args))
        avals = tuple(types[i] if i in types else get_aval(x) for i, x in enumerate(args))
        out = reference(*args, **params)
        outs = list(out or ()) if primitive.multiple_results else [out]
        return [*outs, *(args[i] for i in written_operands(primitive, avals, params))]

    return run


def written_operands(primitive: Primitive, avals: Sequence[Any], params: Mapping[str, Any]) -> list[int]:
    """The positions of the references that a primitive declares to write to, and that can be read afterwards."""
    effects = primitive.result_types(tuple(avals), dict(params))[1]
    return sorted({e.operand for e in effects if isinstance(e, Mutates) and not getattr(e, "ends", False)})


def with_new_contents(case: Case, args: Sequence[Any]) -> list[Any]:
    """The results of the primitive, and the new contents of the references that it declares to write to."""
    refs = _made(case, args)
    outs = _bound(case, refs)
    written = written_operands(case.primitive, [get_aval(x) for x in refs], case.sample.params) if case.refs else []
    return [*outs, *(case.refs[i].read(refs[i]) for i in written)]


def _made(case: Case, args: Sequence[Any]) -> list[Any]:
    """The operands, with new references to the contents."""
    return [case.refs[i].to(get_aval(x)).make(x) if i in case.refs else x for i, x in enumerate(args)]


def _bound(case: Case, operands: Sequence[Any]) -> list[Any]:
    """The results of the primitive; the contents of those that are references."""
    out = case.primitive.bind(*operands, **case.sample.params)
    outs = list(out) if case.primitive.multiple_results else [out]
    return [aval.read(x) if (aval := get_aval(x)).mutable else x for x in outs]


def check_discharge(case: Case) -> None:
    """The primitive writes to the references that it declares to write to, and to no others.

    If there is an impl rule, the discharge rule computes the same.
    """
    if not case.refs:
        raise NotRun("no operand of the sample is a reference")
    native = case.native
    avals = [case.refs.get(i, aval) for i, aval in enumerate(native.avals)]
    declared = written_operands(case.primitive, avals, case.sample.params)
    changed: set[int] = set()
    with config.enable_x64(native.x64), set_current_trace(eval_trace):
        for k in range(3):
            args = case.other_args(native, k)
            changed |= _changed(case, args, declared)
            if case.primitive in rule_tables["discharge"].functions:
                _require_outcome(case, args, declared)
    unchanged = [i for i in declared if i not in changed]
    if unchanged:
        raise Failed(
            f"it declares to write to argument {unchanged[0]}, but leaves the reference as it is, for this sample and "
            "other values; mutates must name the arguments that it writes to. If it writes only for some values, the "
            "sample must have such ones, and vary=",
            "discharge",
        )


def _changed(case: Case, args: Sequence[Any], declared: Sequence[int]) -> set[int]:
    """The positions of references whose contents change.

    Raises:
      Failed: one of them is not declared.
    """
    refs = _made(case, args)
    _bound(case, refs)
    found = set()
    for i, aval in case.refs.items():
        try:
            after = np.asarray(aval.read(refs[i]))
        except ValueError:  # the primitive ends the reference
            continue
        if difference(after, np.asarray(args[i]), 0.0):
            if i not in declared:
                raise Failed(
                    f"it writes to argument {i}, which it does not declare, so a program may drop the write, or move "
                    f"it: declare mutates=({i},)",
                    "discharge",
                )
            found.add(i)
    return found


def _require_outcome(case: Case, args: Sequence[Any], declared: Sequence[int]) -> None:
    """The discharge rule returns a valid result, which equals that of the impl rule.

    Raises:
      Failed: it does not.
    """
    same = tuple(i if i in case.refs else None for i in range(len(args)))
    out, new = rule_tables["discharge"][case.primitive](same, *args, **case.sample.params)
    for i in sorted(new.keys() - set(declared)):
        raise Failed(
            f"the discharge rule returns new contents of argument {i}, which it does not declare to write to: declare "
            f"mutates=({i},)",
            "discharge",
        )
    for i in declared:
        if i not in new:
            raise Failed(
                f"it declares to write to argument {i}, but the discharge rule returns no new contents of it; "
                f"return (results, {{{i}: contents}})",
                "discharge",
            )
    impl = rule_tables["impl"].functions.get(case.primitive)
    if impl is None:
        return
    outs = list(out) if case.primitive.multiple_results else [out]
    refs = _made(case, args)
    out = impl(*refs, **case.sample.params)
    values = [*outs, *(new[i] for i in declared)]
    names = [f"result {i}" for i in range(len(outs))] + [f"the new contents of argument {i}" for i in declared]
    wants = [*(out if case.primitive.multiple_results else [out]), *(case.refs[i].read(refs[i]) for i in declared)]
    for name, x, want in zip(names, values, wants, strict=True):
        rtol = max(default_rtol(np.asarray(want).dtype), case.sample.rtol or 0.0)
        off = difference(np.asarray(x), np.asarray(want), rtol)
        if off:
            raise Failed(f"{name} of the discharge rule differs from that of the impl rule: {off}", "discharge")
