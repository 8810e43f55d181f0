"""Checks of unusual forms of operands: Python numbers, NumPy scalars, and arrays without elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.avals import get_aval
from primax.extend.testing.case import Case, Setting, batched, is_array_type, refusal
from primax.extend.testing.derivatives import dot_products, rounding_of_terms
from primax.extend.testing.evaluation import eager, require_types, tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.types import array_args, empty_variants
from primax.extend.testing.values import difference, direction
from primax.interpreters.batching import to_dim
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linearize_flat
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = ["check_empty", "check_numbers"]

Values = Sequence[Any]
Bind = Callable[..., list[Any]]

_SIZE = 2
_MOST_EMPTY = 3


class _Ways:
    """The ways to use a primitive with given operands, some of which may be Python numbers or NumPy scalars.

    Args:
      case: the primitive with its sample.
      setting: operands of the same types as arrays.
      numbers: for positions of operands, the numbers in place of the arrays.
    """

    def __init__(self, case: Case, setting: Setting, numbers: dict[int, Any]) -> None:
        self.case = case
        self.setting = setting
        self.numbers = numbers

    def args(self, xs: Values) -> list[Any]:
        return [self.numbers.get(i, x) for i, x in enumerate(xs)]

    def compilation(self, xs: Values, ts: Values, cts: Values) -> list[Any]:
        return self.case.bind(*self.args(xs))

    def jvp(self, xs: Values, ts: Values, cts: Values) -> list[Any]:
        args, given = self.args(xs), iter(ts)
        tangents = [
            next(given) if i in self.setting.active else Zero(get_aval(x).to_tangent_aval()) for i, x in enumerate(args)
        ]
        outs, moved = jvp_flat(self.case.bind, args, tangents)
        return [*outs, *(moved[i] for i in self.setting.smooth)]

    def transpose(self, xs: Values, ts: Values, cts: Values) -> list[Any]:
        active = [i in self.setting.active for i in range(len(xs))]
        _, tape = linearize_flat(self.case.bind, self.args(xs), active)
        cotangents: list[Any] = [Zero(aval.to_tangent_aval()) for aval in self.setting.out_avals]
        for i, ct in zip(self.setting.smooth, cts, strict=True):
            cotangents[i] = ct
        return [instantiate_zeros(ct) for ct in tape.transpose(cotangents)]

    def batch(self, xs: Values, ts: Values, cts: Values) -> list[Any]:
        """The results with all arrays among the operands repeated along a new axis."""
        args = self.args(xs)
        mapped = [is_array_type(a) and i not in self.numbers for i, a in enumerate(self.setting.avals)]

        def stacked(*rows: Any) -> list[Any]:
            given = iter(rows)
            return self.case.bind(*(next(given) if m else x for m, x in zip(mapped, args, strict=True)))

        rows = [_repeated(x) for m, x in zip(mapped, args, strict=True) if m]
        outs, dims = batched(stacked, _SIZE, rows, [0] * len(rows))
        return [to_dim(x, _SIZE, dim, 0) for x, dim in zip(outs, dims, strict=True)]


def _repeated(x: Any) -> Any:
    return to_dim(x, _SIZE, None, 0)


_KINDS = {"compilation": "lowering", "evaluation": "impl"}


def _ways_of(case: Case, setting: Setting, numbers: dict[int, Any]) -> list[str]:
    """The ways that apply."""
    ways = ["compilation"] if case.compiles else []
    if case.has("jvp") and setting.active and not case.sample.singular and "jvp" not in case.sample.skip:
        ways += [] if case.reverse_only else ["jvp"]
        if setting.smooth and not case.has_unsupported_transpose:
            ways.append("transpose")
    arrays = [i for i, aval in enumerate(setting.avals) if is_array_type(aval) and i not in numbers]
    if case.has("batch", "axis_batch") and arrays and "batch" not in case.sample.skip:
        ways.append("batch")
    return ways


def _require_plain(case: Case) -> list[int]:
    positions = array_args(case)
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    case.require_evaluation()
    return positions


def check_empty(case: Case) -> None:
    """With operands without elements the derivatives, batches and cotangents have the right types and values."""
    _require_plain(case)
    if not _is_first(case, _shapes_of):
        raise NotRun("it is checked with an earlier sample of the same shapes and parameters")
    native = case.native
    settings = []
    for name, args in empty_variants(case):
        setting = Setting(case, args, native.x64)
        if refusal(setting) is None:
            settings.append((name, setting))
    if not settings:
        raise NotRun("abstract_eval refuses operands without elements")
    inputs: list[Any] = []
    functions: dict[Any, Any] = {}
    for name, setting in settings[:_MOST_EMPTY]:
        ways = _Ways(case, setting, {})
        start = len(inputs)
        parts = (setting.args, setting.tangents, setting.cotangents)
        inputs += [x for part in parts for x in part]
        for way in ["base", *_ways_of(case, setting, {})]:
            if way != "compilation":
                function = ways.compilation if way == "base" else getattr(ways, way)
                functions[name, way] = _placed(function, start, [len(part) for part in parts])
    results = Parts(functions, inputs, compiled=case.compiles, x64=native.x64)
    for name, setting in settings[:_MOST_EMPTY]:
        _compare_empty(case, name, setting, {way: results for key, way in functions if key == name})


def _placed(function: Any, start: int, counts: Sequence[int]) -> Any:
    """A function of operands, tangents and cotangents, as one of all inputs of the program."""

    def run(*values: Any) -> list[Any]:
        sections, place = [], start
        for count in counts:
            sections.append(values[place : place + count])
            place += count
        return function(*sections)  # type: ignore[no-any-return]

    return run


def _result(results: Parts, name: str, way: str, kind: str) -> list[Any]:
    try:
        return results[name, way]
    except Exception as error:
        raise Failed(f"for {name}: {way} fails: {type(error).__name__}: {error}", kind) from error


def _compare_empty(case: Case, name: str, setting: Setting, ways: dict[str, Parts]) -> None:
    try:
        base = ways["base"][name, "base"]
    except Exception:
        return  # the check 'shapes' reports it
    count = len(setting.out_avals)
    pushed = None
    for way, results in ways.items():
        if way == "base":
            continue
        kind = way if way != "batch" or case.has("batch") else "axis_batch"
        outs = _result(results, name, way, kind)
        if way == "jvp":
            pushed = outs[count:]
            message = f"the primal {{what}} of the jvp rule for {name} is not that of the primitive"
            require_same(case, outs[:count], base, setting.args, partial(tolerance, case), message, "jvp")
            _require_types(pushed, [setting.out_avals[i] for i in setting.smooth], f"a tangent for {name}", "jvp")
        elif way == "transpose":
            _require_types(outs, [setting.avals[i] for i in setting.active], f"a cotangent for {name}", way, "jvp")
            if pushed is not None:
                _require_products(setting, name, pushed, outs)
        else:
            message = f"{{what}} for {name}, mapped over an axis of size {_SIZE}, differs from a loop"
            for k in range(_SIZE):
                rows = [np.asarray(x)[k] if np.ndim(x) else np.asarray(x) for x in outs]
                require_same(case, rows, base, setting.args, partial(tolerance, case), message, kind)


def _require_types(values: Values, avals: Values, what: str, *kinds: str) -> None:
    for x, aval in zip(values, avals, strict=True):
        if is_array_type(aval) and (x.shape, x.dtype) != (aval.shape, aval.dtype):
            want, have = (f"{y.dtype}{list(y.shape)}" for y in (aval, x))
            raise Failed(f"{what}: expected {want}, got {have}", *kinds)


def _require_products(setting: Setting, name: str, pushed: Values, pulled: Values) -> None:
    forward, backward, size = dot_products(pushed, pulled, setting.cotangents, setting.tangents)
    if np.isfinite(size) and abs(forward - backward) > 1e-3 * size:
        raise Failed(
            f"for {name}: <J'ct, t> must equal <ct, J t>: expected {forward:.8g}, got {backward:.8g}",
            "transpose",
            "jvp",
        )


def check_numbers(case: Case) -> None:
    """Python numbers and NumPy scalars as operands give the same results as arrays of rank 0, by every rule."""
    positions = _require_plain(case)
    if case.sample.invariants is not None:
        raise NotRun("the arguments do not determine the results")
    if not _is_first(case, _forms_of):
        raise NotRun("it is checked with an earlier sample")
    forms = list(_forms(case, positions))
    if not forms:
        raise NotRun("abstract_eval refuses scalars in place of the operands")
    for n, (described, setting, numbers) in enumerate(forms):
        _check_form(case, described, setting, numbers, values=n == 0)


def _is_first(case: Case, features: Callable[[Any], Any]) -> bool:
    """Whether no earlier sample of the primitive has the same features."""
    place = [sibling is case.sample for sibling in case.siblings].index(True)
    return all(features(sibling) != features(case.sample) for sibling in case.siblings[:place])


def _forms_of(sample: Any) -> list[Any]:
    return [np.ndim(x) == 0 for x in sample.args]


def _shapes_of(sample: Any) -> Any:
    return [np.shape(x) for x in sample.args], repr(sample.params)


def _forms(case: Case, positions: Sequence[int]) -> Iterator[tuple[str, Setting, dict[int, Any]]]:
    """Operands with numbers among them: all arrays as numbers, and then one after the other; see `_check_form`."""
    native = case.native
    scalars = {i: np.asarray(native.args[i]).ravel()[:1] for i in positions}
    if not all(map(_is_number, scalars.values())):
        return
    plain = [np.asarray(scalars[i][0]) if i in scalars else x for i, x in enumerate(native.args)]
    for form in ("a Python number", "a NumPy scalar"):
        setting, numbers = _with_numbers(case, native.args, scalars, form)
        if refusal(setting) is None:
            yield f"{form} as each of the arguments {positions}", setting, numbers
    for i in positions[:2] if len(positions) > 1 else ():
        for others in (native.args, plain):
            setting, numbers = _with_numbers(case, others, {i: scalars[i]}, "a Python number")
            if refusal(setting) is None:
                yield f"a Python number as argument {i}", setting, numbers
                break


def _is_number(x: Any) -> bool:
    """Whether an array with one element is a number that Python has and every dtype of its kind can hold."""
    return bool(x.size) and (x.dtype.kind in "fcb" or (x.dtype.kind in "iu" and abs(int(x[0])) < 2**31))


def _with_numbers(case: Case, args: Values, scalars: Mapping[int, Any], form: str) -> tuple[Setting, dict[int, Any]]:
    """Operands, some of them numbers: their types with equal arrays, and the numbers by position."""
    native = case.native
    numbers = {i: x[0] if form == "a NumPy scalar" else x[0].item() for i, x in scalars.items()}
    with config.enable_x64(native.x64):
        avals = [get_aval(numbers.get(i, x)) for i, x in enumerate(args)]
    arrays = [np.asarray(numbers[i]).astype(avals[i].dtype) if i in numbers else x for i, x in enumerate(args)]
    return Setting(case, arrays, native.x64, avals), numbers


def _check_form(case: Case, described: str, setting: Setting, numbers: dict[int, Any], values: bool) -> None:
    """Compare each way of using the primitive with numbers and with arrays: the types, and on request the values.

    Raises:
      Failed: they differ, or one raises an error with numbers only.
    """
    if case.has("impl"):
        _check_evaluation(case, described, setting, numbers)
    tangents = [direction(setting.args[i], i) for i in setting.active]
    inputs = [*setting.args, *tangents, *setting.cotangents]
    counts = [len(setting.args), len(tangents), len(setting.cotangents)]
    names = _ways_of(case, setting, numbers)
    if values and "jvp" in names:
        names = [name for name in names if name != "compilation"]  # the JVP computes the results, too
    functions: dict[Any, Any] = {}
    for form, given in (("numbers", numbers), ("arrays", {})):
        for way in names:
            repeated = {i: setting.args[i] for i in numbers} if way == "batch" and form == "arrays" else given
            functions[form, way] = _placed(getattr(_Ways(case, setting, repeated), way), 0, counts)
    results: Any = (Parts if values else _Types)(functions, inputs, compiled=case.compiles, x64=setting.x64)
    for way in names:
        kind = _KINDS.get(way, way if way != "batch" or case.has("batch") else "axis_batch")
        try:
            wants = results["arrays", way]
        except Exception:
            continue  # the checks of this rule report it
        try:
            gots = results["numbers", way]
        except Exception as error:
            text = f"with {described}, {way} fails: {type(error).__name__}: {error}"
            raise Failed(text, kind, "abstract_eval") from error
        _compare(case, gots, wants, f"with {described}, by {way},", kind, partial(_noise, setting, results, way))


def _noise(setting: Setting, results: Parts, way: str, n: int) -> Any:
    return results.rounding(("arrays", way), n) + rounding_of_terms(setting, results["arrays", way])


class _Types:
    """The types of the results of several functions of the same arguments, as arrays of zeros."""

    def __init__(self, functions: Mapping[Any, Any], args: Values, *, compiled: bool, x64: bool) -> None:
        self.functions = functions
        self.x64 = x64
        with config.enable_x64(x64):
            self.avals = [get_aval(x) for x in args]

    def __getitem__(self, key: Any) -> list[Any]:
        with config.enable_x64(self.x64):
            closed = trace_to_jaxpr(lambda *xs: [instantiate_zeros(x) for x in self.functions[key](*xs)], self.avals)
        return [np.zeros(aval.shape, aval.dtype) if is_array_type(aval) else aval for aval in closed.out_avals]


def _compare(case: Case, gots: Values, wants: Values, what: str, kind: str, noise: Callable[[int], Any]) -> None:
    if len(gots) != len(wants):
        raise Failed(f"{what} there are {len(gots)} results instead of {len(wants)}", kind, "abstract_eval")
    for n, (got, want) in enumerate(zip(gots, wants, strict=True)):
        if not isinstance(want, np.ndarray):
            continue
        off = difference(got, want, 30 * tolerance(case, want.dtype), partial(noise, n))
        if off:
            raise Failed(f"{what} result {n} is not as with arrays: {off}", kind, "abstract_eval")


def _check_evaluation(case: Case, described: str, setting: Setting, numbers: dict[int, Any]) -> None:
    """Compare the impl rule with numbers and with arrays."""
    try:
        wants = eager(setting)
    except Exception:
        return  # the check 'shapes' reports it
    try:
        gots = eager(setting, [numbers.get(i, x) for i, x in enumerate(setting.args)], as_arrays=False)
        with config.enable_x64(setting.x64):
            avals = [get_aval(x) for x in gots]
    except Exception as error:
        text = f"with {described}, the impl rule fails: {type(error).__name__}: {error}"
        raise Failed(text, "impl", "abstract_eval") from error
    # A Python number among the results has the type of its aval.
    gots = [np.asarray(x).astype(aval.dtype) if is_array_type(aval) else x for x, aval in zip(gots, avals, strict=True)]
    require_types(gots, setting.out_avals, f"the impl rule, with {described}", "impl")
    message = f"with {described}, {{what}} of the impl rule is not as with arrays"
    require_same(case, gots, wants, setting.args, partial(tolerance, case), message, "impl")
