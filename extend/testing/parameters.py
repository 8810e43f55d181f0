"""Parameters: whether equal values mean the same, and further samples with other values of their declared domains."""

from __future__ import annotations

import copy
import enum
import inspect
import itertools
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from primax.core import config
from primax.core.jaxpr import Jaxpr
from primax.core.primitive import Primitive
from primax.extend.core.samples import Sample
from primax.extend.testing.case import Case, refusal
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import differences
from primax.extend.testing.programs import Program
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.rule_checks import needs_rule_checks

__all__ = ["check_equality", "drawn_samples"]

_MOST_VALUES = 4  # of one parameter
_MOST_SAMPLES = 12  # of one primitive


def check_equality(case: Case) -> None:
    """Equal parameters have equal hashes and give the same results, since programs are shared by equal parameters."""
    values = [(name, x) for name, value in case.sample.params.items() for x in _objects(value)]
    if not values:
        raise NotRun("no parameter is of a class with an equality of its own")
    for name, value in values:
        _require_hash(name, value)
        of_samples = [("attribute", x) for s in case.siblings for x in _objects(s.params.get(name)) if x is not value]
        for attribute, twin in (*_twins(value), *of_samples):
            if type(twin) is type(value) and _equal(name, twin, value):
                _require_same_results(case, name, value, attribute, twin)


def _objects(value: Any) -> Iterator[Any]:
    """The values in a parameter whose classes are of users and define `__eq__`."""
    if isinstance(value, tuple | list | frozenset):
        for item in value:
            yield from _objects(item)
    elif (
        any("__eq__" in vars(cls) for cls in type(value).__mro__[:-1])
        and not isinstance(value, Jaxpr | enum.Enum | type)
        and type(value).__module__.partition(".")[0] not in _TRUSTED
    ):
        yield value


_TRUSTED = frozenset(("builtins", "numpy", "ml_dtypes", "primax", "jaxlib"))


def _equal(name: str, one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception as error:
        raise Failed(f"parameter {name}: {type(one).__name__}.__eq__ raises {type(error).__name__}: {error}") from error


def _require_hash(name: str, value: Any) -> None:
    """A value equals itself and nothing of another class, and a copy that equals it has its hash."""
    kind = type(value).__name__
    if not _equal(name, value, value):
        raise Failed(f"parameter {name}: {value!r} must equal itself; {kind}.__eq__ returns False")
    if _equal(name, value, object()):
        raise Failed(f"parameter {name}: {value!r} must not equal every object; {kind}.__eq__ returns True")
    try:
        twin = copy.deepcopy(value)
    except Exception:  # it cannot be copied
        return
    if _equal(name, twin, value) and hash(twin) != hash(value):
        raise Failed(
            f"parameter {name}: a copy of {value!r} equals it, but has another hash, so each is compiled anew; "
            f"{kind}.__hash__ must be a function of what {kind}.__eq__ compares"
        )


def _twins(value: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a value in which one attribute is another number, with the attribute's name."""
    names = list(getattr(value, "__dict__", ()))
    names += [name for cls in type(value).__mro__ for name in _slots(cls) if hasattr(value, name)]
    for name in dict.fromkeys(names):
        changed = _changed(getattr(value, name))
        if changed is None:
            continue
        with suppress(Exception):  # it cannot be copied, or its attributes cannot be set
            twin = copy.copy(value)
            object.__setattr__(twin, name, changed)
            yield name, twin


def _slots(cls: type) -> Iterable[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _changed(x: Any) -> Any:
    """Another value of the type of a number, an array or a tuple of numbers; None for other values."""
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + 1
    if isinstance(x, float | complex | np.inexact):
        return x * 1.5 + 0.25
    if isinstance(x, np.ndarray) and x.dtype.kind in "fciu":
        return (x * 1.5 + 1).astype(x.dtype)
    if isinstance(x, tuple) and x and _changed(x[-1]) is not None:
        return (*x[:-1], _changed(x[-1]))
    return None


def _require_same_results(case: Case, name: str, value: Any, attribute: str, twin: Any) -> None:
    native = case.native
    params = {**case.sample.params, name: _exchanged(case.sample.params[name], value, twin)}
    other = Case(case.primitive, replace(case.sample, params=params), case.label)
    try:
        outs = Program(other.bind, native.args, compiled=case.compiles, x64=native.x64)(*native.args)
    except Exception:  # the other number is not valid
        return
    for what, off in differences(case, outs, native.base(*native.args), native.args, lambda d: tolerance(case, d)):
        kind = type(value).__name__
        raise Failed(
            f"parameter {name}: {value!r} equals a value with another {attribute}, but {what} differs ({off}). Equal "
            f"parameters share programs, so {kind}.__eq__ and {kind}.__hash__ must depend on {attribute}"
        )


def _exchanged(param: Any, value: Any, twin: Any) -> Any:
    """A parameter with another value in place of one that it is or holds."""
    if isinstance(param, tuple | list) and type(param) in (tuple, list):
        return type(param)(_exchanged(x, value, twin) for x in param)
    return twin if param is value else param


def drawn_samples(primitive: Primitive, samples: Sequence[Sample]) -> Iterator[Sample]:
    """Samples with values of parameters that no sample has, as far as the primitive accepts them.

    Args:
      primitive: the primitive.
      samples: its samples; each drawn one is one of these with another value of one parameter.
    """
    kinds = _kinds(primitive, samples)
    drawn = (sample for name, kind in kinds.items() for sample in _drawn(primitive, samples, name, kind))
    yield from itertools.islice(drawn, _MOST_SAMPLES)


def _kinds(primitive: Primitive, samples: Sequence[Sample]) -> dict[str, Any]:
    """The declared types and predicates of parameters; without a declaration, the types of few values in samples."""
    if primitive._parameters is not None or not needs_rule_checks[primitive]:
        return dict(primitive._parameters or {})
    types_of = {name: {type(s.params.get(name)) for s in samples} for s in samples for name in s.params}
    finite = {name: kinds.pop() for name, kinds in types_of.items() if len(kinds) == 1}
    return {name: kind for name, kind in finite.items() if kind is bool or issubclass(kind, enum.Enum)}


def _drawn(primitive: Primitive, samples: Sequence[Sample], name: str, kind: Any) -> Iterator[Sample]:
    """Samples with other values of one parameter."""
    known = [sample.params[name] for sample in samples if name in sample.params]
    values = [x for x in _domain(kind, known) if not any(_is(x, y) for y in known)]
    accepted = ((value, next((s for s in samples if _accepts(primitive, s, name, value)), None)) for value in values)
    drawn = (_with(sample, samples, name, value) for value, sample in accepted if sample is not None)
    yield from itertools.islice(drawn, _MOST_VALUES)


def _is(x: Any, y: Any) -> bool:
    """Whether two values are the same; True is not 1."""
    return type(x) is type(y) and bool(x == y)


def _with(sample: Sample, samples: Sequence[Sample], name: str, value: Any) -> Sample:
    position = next(i for i, s in enumerate(samples) if s is sample)
    label = f"{sample.name or position}, {name}={value!r}"
    reference = sample.reference
    if reference is not None and not _takes(reference, name):
        reference = None
    return replace(sample, params={**sample.params, name: value}, name=label, reference=reference)


def _takes(reference: Any, name: str) -> bool:
    """Whether a reference has a parameter of this name, so that it heeds it."""
    try:
        return name in inspect.signature(reference).parameters
    except (TypeError, ValueError):
        return False


def _accepts(primitive: Primitive, sample: Sample, name: str, value: Any) -> bool:
    if sample.invariants is not None or sample.axes or name not in sample.params:
        return False
    try:
        case = Case(primitive, replace(sample, params={**sample.params, name: value}), "")
        with config.enable_x64(case.native.x64):
            if refusal(case.native) is not None:
                return False
            case.native.base(*case.native.args)
    except (TypeError, ValueError, IndexError, NotImplementedError, NotRun):
        return False
    except Exception:  # the checks report it
        return True
    return True


def _domain(kind: Any, known: Sequence[Any]) -> Iterator[Any]:
    """Values that a declaration allows: all of a finite type or choice, otherwise some near those of samples."""
    if isinstance(kind, types.UnionType):
        for part in kind.__args__:
            yield from _domain(part, [x for x in known if isinstance(x, part)])
    elif kind is types.NoneType:
        yield None
    elif kind is bool:
        yield from (False, True)
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        yield from kind
    elif isinstance(kind, type):
        yield from _near([x for x in known if type(x) is kind])
    else:
        for value in dict.fromkeys(_hashable([*_constants(kind), *_near(known)])):
            with suppress(Exception):  # a predicate need not accept values of other types
                if kind(value) and not (isinstance(value, bool) and not any(isinstance(x, bool) for x in known)):
                    yield value


def _hashable(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        with suppress(TypeError):
            hash(value)
            yield value


def _near(known: Sequence[Any]) -> Iterator[Any]:
    """Numbers near known ones, of the same type and sign."""
    for x in known:
        if isinstance(x, bool):
            yield not x
        elif isinstance(x, int):
            yield from (y for y in (x + 1, x - 1, x + 2, x - 2) if y >= 0 or min(known) < 0)
        elif isinstance(x, float):
            yield from (1.5 * x, 0.5 * x)


def _constants(predicate: Any) -> Iterator[Any]:
    """The values among which a predicate chooses: `choices.__contains__`, or in its code, such as `v in ("a", "b")`."""
    owner = getattr(predicate, "__self__", None)
    if getattr(predicate, "__name__", "") == "__contains__" and isinstance(owner, Iterable):
        yield from list(owner)[: 4 * _MOST_VALUES]
    code = getattr(predicate, "__code__", None)
    if code is None:
        return
    held = [*code.co_consts, *(cell.cell_contents for cell in getattr(predicate, "__closure__", None) or ())]
    held += [predicate.__globals__[name] for name in code.co_names if name in predicate.__globals__]
    for value in held:
        if isinstance(value, tuple | list | frozenset | set | dict | range):
            yield from list(value)[: 4 * _MOST_VALUES]
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            yield from value
        elif isinstance(value, bool | int | float | str) or value is None:
            yield value
