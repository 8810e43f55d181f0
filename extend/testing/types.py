"""Checks of abstract evaluation against computed values, for several dtypes, shapes and wrong inputs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core.avals import ShapedArray, get_aval
from primax.core.errors import JaxprTypeError, RuleError
from primax.core.source_info import is_internal
from primax.extend import dtypes
from primax.extend.testing.case import Case, Setting, is_array_type
from primax.extend.testing.evaluation import eager, require_types, tolerance
from primax.extend.testing.invariants import require_same, rounding_of
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.statements import raise_together
from primax.extend.testing.values import difference, double, is_inexact, largest, least
from primax.interpreters.runtime.extended_array import has_extended_dtype

__all__ = [
    "array_args",
    "bad_variants",
    "check_abstract_eval",
    "check_bad_input",
    "check_dtypes",
    "check_shapes",
    "check_weak_types",
    "empty_variants",
    "is_refusal",
]

_RULES = ("abstract_eval", "effectful_abstract_eval")


def check_abstract_eval(case: Case) -> None:
    """The results of the program have the types that abstract_eval returns."""
    native = case.native
    for i, aval in enumerate(native.out_avals):
        if isinstance(aval, ShapedArray) and dtypes.canonicalize_dtype(aval.dtype) != aval.dtype and not native.x64:
            raise Failed(f"result {i}: expected a dtype of at most 32 bits without enable_x64, got {aval}", *_RULES)
    require_types(native.base(*native.args), native.out_avals, "the program", "abstract_eval")


def check_weak_types(case: Case) -> None:
    """A result is weakly typed only if all arguments are, and evaluation and compilation agree on it."""
    native = case.native
    kinds = [a for a in native.avals if is_array_type(a)]
    if not kinds or len(kinds) < len(native.avals) or case.programs:
        raise NotRun("its types are not those of its arguments" if case.programs else _other_types(case))
    for weak in (False, True):
        avals = [a.update(weak_type=weak) for a in kinds]
        setting = Setting(case, native.args, native.x64, avals)
        for i, aval in enumerate(setting.out_avals):
            if isinstance(aval, ShapedArray) and aval.weak_type and not weak:
                raise Failed(f"by abstract_eval result {i} is weakly typed, although no argument is", *_RULES)
        if not case.has("impl"):
            continue
        for i, (x, aval) in enumerate(zip(eager(setting), setting.out_avals, strict=True)):
            have = get_aval(x)
            if isinstance(aval, ShapedArray) and have.weak_type != aval.weak_type:
                raise Failed(
                    f"result {i}, for {'weakly' if weak else 'strongly'} typed arguments: abstract_eval promises "
                    f"weak_type={aval.weak_type}, the impl rule gives weak_type={have.weak_type}",
                    *_RULES,
                    "impl",
                )


def is_refusal(error: Exception) -> bool:
    """Whether an exception means that operands are refused; a function of primax that refuses an index counts too."""
    if isinstance(error, IndexError):
        *_, place = traceback.extract_tb(error.__traceback__)
        return is_internal(place.filename)
    return isinstance(error, TypeError | ValueError | NotImplementedError)


def _check_variants(case: Case, variants: Sequence[tuple[str, list[Any]]], x64: bool) -> dict[str, list[Any]]:
    """Check that abstract evaluation refuses each variant of the arguments with a right error, or has right types.

    Returns:
      The results of the accepted variants.

    Raises:
      Failed: something is wrong for some of them.
    """
    accepted: dict[str, Setting] = {}
    failures: list[Failed] = []
    for name, args in variants:
        setting = Setting(case, args, x64)
        try:
            if not _is_refused(setting, name):
                accepted[name] = setting
        except Failed as failure:
            failures.append(failure)
    of_variants: dict[str, list[Any]] = {}
    if accepted:
        case.require_evaluation()
        results = _results_of(accepted, case, x64)
        for name, setting in accepted.items():
            try:
                of_variants[name] = _checked_results(case, name, setting, results)
            except Failed as failure:
                failures.append(failure)
    raise_together(failures)
    return of_variants


def _is_refused(setting: Setting, name: str) -> bool:
    """Whether abstract evaluation refuses arguments.

    Raises:
      Failed: it raises an error that is not a refusal.
    """
    try:
        _ = setting.out_avals
    except (RuleError, JaxprTypeError) as error:
        raise Failed(f"for {name}: {error}", *_RULES) from error
    except Exception as error:
        if is_refusal(error):
            return True
        raise Failed(
            f"for {name}: expected abstract_eval to accept or to raise TypeError or ValueError, "
            f"got {type(error).__name__}: {error}",
            *_RULES,
        ) from error
    return False


def _results_of(settings: Mapping[str, Setting], case: Case, x64: bool) -> Parts:
    """The results of the primitive for several arguments, by one program."""
    flat: list[Any] = []
    parts: dict[str, Any] = {}
    for name, setting in settings.items():
        own = slice(len(flat), len(flat) + len(setting.args))
        flat += setting.args
        parts[name] = lambda *xs, own=own: case.bind(*xs[own])
    return Parts(parts, flat, compiled=case.compiles, x64=x64)


def _checked_results(case: Case, name: str, setting: Setting, results: Parts) -> list[Any]:
    """The results for some arguments.

    Raises:
      Failed: there are none, or their types are not the promised ones, or their values not those of the impl rule.
    """
    try:
        outs = results[name]
    except Exception as error:
        raise Failed(
            f"for {name}: abstract_eval accepts it, but it fails to run: {type(error).__name__}: {error}",
            "lowering",
            *_RULES,
        ) from error
    require_types(outs, setting.out_avals, f"the program for {name}", "lowering")
    if case.has("impl"):
        try:
            wants = eager(setting)
        except Failed:
            raise
        except Exception as error:
            text = f"for {name}: abstract_eval accepts it, but the impl rule fails: {type(error).__name__}: {error}"
            raise Failed(text, "impl", *_RULES) from error
        require_types(wants, setting.out_avals, f"the impl rule for {name}", "impl")
        message = f"{{what}} for {name}: the lowering is not as the impl rule"
        require_same(case, outs, wants, setting.args, partial(tolerance, case), message, "lowering", "impl")
    return outs


def _other_types(case: Case) -> str:
    if any(map(has_extended_dtype, case.native.avals)):
        return "its arrays are of extended dtypes, which the kit takes as they are"
    return "it has no arrays as arguments"


def array_args(case: Case) -> list[int]:
    """The positions of arguments that are arrays.

    Raises:
      NotRun: there are none, or the primitive holds a program.
    """
    positions = [i for i, a in enumerate(case.native.avals) if is_array_type(a)]
    if not positions:
        raise NotRun(_other_types(case))
    if case.programs:
        raise NotRun("it holds a program, whose types are fixed")
    return positions


_FLOATS = (dtypes.bfloat16, np.float16, np.float32, np.float64)
_INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def check_dtypes(case: Case) -> None:
    """In every accepted dtype of the same kind the results agree, within the precision of that dtype."""
    array_args(case)
    native = case.native
    rounded = [_rounded(x) if is_array_type(a) else x for x, a in zip(native.args, native.avals, strict=True)]
    with np.errstate(over="ignore"):
        variants = [(name, args) for name, args in _dtype_variants(rounded) if _fits(args) or not _fits(rounded)]
    of_variants = _check_variants(case, variants, x64=True)
    for want_name in ("float64", "complex128"):
        want = of_variants.get(want_name)
        for name, got in of_variants.items():
            kin = name in (("complex64",) if want_name == "complex128" else ("bfloat16", "float16", "float32"))
            if want is not None and kin:
                _compare_dtypes(case, name, got, want, dict(variants)[name])


def _fits(args: Sequence[Any]) -> bool:
    return all(np.isfinite(double(x)).all() for x in args if is_inexact(x))


def _rounded(x: Any) -> Any:
    """An inexact value rounded to so few digits that every dtype can represent it."""
    x = np.asarray(x)
    if not is_inexact(x):
        return x
    if np.iscomplexobj(x):
        return _rounded(x.real) + 1j * _rounded(x.imag)
    return double(x.astype(dtypes.bfloat16))


def _dtype_variants(args: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    kinds = {np.asarray(x).dtype.kind if isinstance(x, np.ndarray) else "O" for x in args}
    inexact = [isinstance(x, np.ndarray) and is_inexact(x) for x in args]
    if any(inexact):
        if "c" not in kinds:
            for dtype in _FLOATS:
                yield np.dtype(dtype).name, _converted(args, inexact, dtype)
            args = [x * (1 + 0.5j) if c else x for x, c in zip(args, inexact, strict=True)]
            yield "complex64", _converted(args, inexact, np.complex64)
            yield "complex128", _converted(args, inexact, np.complex128)
            return
        for real, dtype in ((np.float32, np.complex64), (np.float64, np.complex128)):
            yield (
                np.dtype(dtype).name,
                [
                    x.astype(dtype if np.iscomplexobj(x) else real) if c else x
                    for x, c in zip(args, inexact, strict=True)
                ],
            )
    elif kinds <= {"i", "u"}:
        for dtype in _INTEGERS:
            yield np.dtype(dtype).name, _converted(args, [True] * len(args), dtype)


def _converted(args: Sequence[Any], which: Sequence[bool], dtype: Any) -> list[Any]:
    return [x.astype(dtype) if c else x for x, c in zip(args, which, strict=True)]


def _compare_dtypes(case: Case, name: str, gots: list[Any], wants: list[Any], args: list[Any]) -> None:
    """Compare results in a narrow dtype with those in double precision."""
    if case.sample.invariants is not None:
        narrow = [want.astype(got.dtype) for got, want in zip(gots, wants, strict=True)]
        message = f"{{what}} for {name} is not that in double precision"
        require_same(case, gots, narrow, args, lambda dtype: 8 * tolerance(case, dtype), message, "lowering", "impl")
        return
    for i, (got, want) in enumerate(zip(gots, wants, strict=True)):
        if got.shape != want.shape:
            raise Failed(f"result {i} for {name}: expected shape {want.shape}, got {got.shape}", *_RULES)
        if not is_inexact(got) or not is_inexact(want):
            same = is_inexact(got) == is_inexact(want)
            off = "" if not same else difference(got.astype(want.dtype), want)
        else:
            fits = np.abs(want) < largest(got)
            rtol, noise = 8 * tolerance(case, got.dtype), partial(rounding_of, case, args, i, least(got))
            off = difference(np.where(fits, double(got), 0).astype(want.dtype), np.where(fits, want, 0), rtol, noise)
        if off:
            raise Failed(f"result {i} for {name} is not that in double precision: {off}", "lowering", "impl")


def check_shapes(case: Case) -> None:
    """For other sizes, including 0, and other ranks, the results are right or abstract_eval raises a right error."""
    arrays = array_args(case)
    native = case.native
    shapes = {i: np.shape(native.args[i]) for i in arrays}
    variants = list(_other_sizes(shapes))
    variants.append(("one axis more", {i: (2, *shape) if shape else shape for i, shape in shapes.items()}))
    variants.append(("scalars", dict.fromkeys(shapes, ())))
    _check_variants(case, _variants_of_shapes(case, variants), native.x64)


Shapes = dict[int, tuple[int, ...]]


def _other_sizes(shapes: Shapes) -> Iterator[tuple[str, Shapes]]:
    """Shapes with size 0 or 1 in place of each size, and with size 0 in each dimension of equal shapes, or of one."""
    for size in sorted({n for shape in shapes.values() for n in shape}):
        for new in (0, 1):
            if new != size:
                changed = {i: tuple(new if n == size else n for n in shape) for i, shape in shapes.items()}
                yield f"size {new} in place of {size}", changed
    for i, shape in shapes.items():
        for axis in range(len(shape)):
            of_equals = {j: _emptied(other, axis) if other == shape else other for j, other in shapes.items()}
            yield f"size 0 along axis {axis}", of_equals
            yield f"size 0 along axis {axis} of argument {i}", {**shapes, i: _emptied(shape, axis)}


def _emptied(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 0, *shape[axis + 1 :])


def _variants_of_shapes(case: Case, variants: Sequence[tuple[str, Shapes]]) -> list[tuple[str, list[Any]]]:
    """The arguments in other shapes, without repetition, each with its description."""
    arrays = array_args(case)
    native = case.native
    seen = [{i: np.shape(native.args[i]) for i in arrays}]
    calls = []
    for name, changed in variants:
        if changed not in seen:
            seen.append(changed)
            args = [_resized(x, changed[i]) if i in changed else x for i, x in enumerate(native.args)]
            described = ", ".join(str(list(changed[i])) for i in arrays)
            calls.append((f"{name}, shapes {described}", args))
    return calls


def empty_variants(case: Case) -> list[tuple[str, list[Any]]]:
    """The arguments with size 0 in each dimension in turn, each with its description."""
    shapes = {i: np.shape(case.native.args[i]) for i in array_args(case)}
    variants = [(name, changed) for name, changed in _other_sizes(shapes) if name.startswith("size 0")]
    return _variants_of_shapes(case, variants)


def _resized(x: Any, shape: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    return np.resize(x, shape).astype(x.dtype) if x.size else np.zeros(shape, x.dtype)


def check_bad_input(case: Case) -> None:
    """Arguments of another number, dtype or shape raise TypeError or ValueError, or compute."""
    with np.errstate(all="ignore"):
        _check_variants(case, bad_variants(case), case.native.x64)


def bad_variants(case: Case) -> list[tuple[str, list[Any]]]:
    """Arguments of another number, dtype or shape, each with its description."""
    arrays = array_args(case)
    args = case.native.args
    variants = [("one argument less", args[:-1]), ("one argument more", [*args, args[-1]])]
    for i in arrays:
        x = np.asarray(args[i])
        for dtype in (np.bool_, np.int32, np.complex64) if len(args) > 1 else (np.bool_,):
            if x.dtype.kind != np.dtype(dtype).kind:
                variants.append((f"argument {i} of dtype {np.dtype(dtype)}", _replaced(args, i, _as(x, dtype))))
        if len(arrays) > 1:
            shape = (*x.shape[:-1], x.shape[-1] + 1) if x.shape else (2,)
            variants.append((f"argument {i} of shape {list(shape)}", _replaced(args, i, _resized(x, shape))))
            more = (3, *x.shape)
            variants.append((f"argument {i} of shape {list(more)}", _replaced(args, i, _resized(x, more))))
    return variants


def _as(x: Any, dtype: Any) -> Any:
    return (x if dtype is np.complex64 else x.real).astype(dtype)


def _replaced(args: Sequence[Any], i: int, x: Any) -> list[Any]:
    return [x if j == i else y for j, y in enumerate(args)]
