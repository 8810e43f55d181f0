"""One primitive with one sample: its arguments in the types that checks need, and its programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from primax.core import config
from primax.core.avals import ShapedArray, get_aval
from primax.core.effects import Effects
from primax.core.jaxpr import jaxprs_in_params
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.extend import dtypes
from primax.extend.core.samples import Sample
from primax.extend.testing.programs import Program
from primax.extend.testing.references import refs_of, with_new_contents, written_operands
from primax.extend.testing.report import NotRun
from primax.extend.testing.user_types import (
    arrays_of,
    flat,
    operands,
    positions_of_arrays,
    rigid_arrays,
    types_of_operands,
)
from primax.extend.testing.values import direction, double, is_inexact, varied
from primax.interpreters.batching import AxisData, batch_flat, to_dim
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linearize_flat
from primax.interpreters.tangents import Zero

__all__ = ["Case", "Setting", "batched", "is_array_type", "over_axis", "refusal"]


_WITHOUT_RULES = frozenset(("jvp", "transpose", "batch"))  # not needed by primitives with references


class Setting:
    """A primitive with arguments of certain types.

    Attributes:
      args: the arguments.
      avals: their types.
      active: the positions of the differentiated arguments.
      x64: the value of `enable_x64`.
    """

    def __init__(self, case: Case, args: Sequence[Any], x64: bool, avals: Sequence[Any] | None = None) -> None:
        self.case = case
        self.x64 = x64
        self.args = list(args)
        with config.enable_x64(x64):
            self.avals = [get_aval(x) for x in args] if avals is None else list(avals)
        self.active = [
            i
            for i, aval in enumerate(self.avals)
            if is_array_type(aval) and dtypes.is_inexact(aval.dtype) and i not in case.constant
        ]

    def bind(self, *args: Any) -> list[Any]:
        """The primitive's results, as a list."""
        return self.case.bind(*args)

    @cached_property
    def out_avals(self) -> list[Any]:
        """The promised types of the results."""
        with config.enable_x64(self.x64):
            return self.case.abstract_eval(self.avals)[0]

    @cached_property
    def smooth(self) -> list[int]:
        """The positions of results that have tangents."""
        rigid = self.case.rigid_results
        return [
            i
            for i, aval in enumerate(self.out_avals)
            if is_array_type(aval) and dtypes.is_inexact(aval.dtype) and i not in rigid
        ]

    def program(self, fun: Any, *args: Any) -> Program:
        """A program with this `enable_x64`, compiled if the primitive has a lowering."""
        return Program(fun, args, compiled=self.case.compiles, x64=self.x64)

    @cached_property
    def base(self) -> Program:
        """The primitive itself, if it can be evaluated."""
        self.case.require_evaluation()
        compiled = self.case.compiled
        return compiled if compiled is not None and self is self.case.native else self.program(self.bind, *self.args)

    @cached_property
    def tangents(self) -> list[Any]:
        """A direction for each active argument."""
        return [direction(self.args[i], i) for i in self.active]

    @cached_property
    def cotangents(self) -> list[Any]:
        """A cotangent for each result that has tangents."""
        return [
            direction(np.ones(self.out_avals[i].shape, self.out_avals[i].dtype), ("cotangent", i)) for i in self.smooth
        ]

    def moved(self, tangents: Sequence[Any], step: float, active: Sequence[int] | None = None) -> list[Any]:
        """The arguments, moved by a step along the tangents of the active ones."""
        moved = list(self.args)
        for i, t in zip(self.active if active is None else active, tangents, strict=True):
            moved[i] = np.asarray(double(moved[i]) + step * double(t)).astype(np.asarray(moved[i]).dtype)
        return moved

    def push(self, args: Sequence[Any], tangents: Sequence[Any], active: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """The results and the tangents of the inexact ones, under the current trace."""
        count = len(args)

        def pushed(*xs: Any) -> list[Any]:
            directions: list[Any] = [Zero(get_aval(x).to_tangent_aval()) for x in xs[:count]]
            for i, t in zip(active, xs[count:], strict=True):
                directions[i] = t
            outs, out_tangents = jvp_flat(self.case.bind_element, xs[:count], directions)
            return [*outs, *(out_tangents[i] for i in self.smooth)]

        results = self.case.mapped(pushed)(*args, *tangents)
        return results[: len(self.out_avals)], results[len(self.out_avals) :]

    def pull(self, args: Sequence[Any], cotangents: Sequence[Any], active: Sequence[int]) -> list[Any]:
        """Cotangents of the active arguments from those of the inexact results, under the current trace."""
        count = len(args)

        def pulled(*xs: Any) -> list[Any]:
            _, tape = linearize_flat(self.case.bind_element, xs[:count], [i in active for i in range(count)])
            cotangents: list[Any] = [Zero(self.case.element(aval).to_tangent_aval()) for aval in self.out_avals]
            for i, ct in zip(self.smooth, xs[count:], strict=True):
                cotangents[i] = ct
            return tape.transpose(cotangents)

        return self.case.mapped(pulled)(*args, *cotangents)  # type: ignore[no-any-return]

    @cached_property
    def forward(self) -> Program:
        """The program from arguments and tangents of the active ones to results and tangents."""
        return self.program(self.run_forward, *self.args, *self.tangents)

    def run_forward(self, *values: Any) -> list[Any]:
        """Results and tangents from arguments and tangents of the active ones, under the current trace."""
        outs, out_tangents = self.push(values[: len(self.args)], values[len(self.args) :], self.active)
        return [*outs, *out_tangents]

    def forward_tangents(self, args: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results."""
        return self.forward(*args, *tangents)[len(self.out_avals) :]

    @cached_property
    def backward(self) -> Program:
        """The program from arguments and cotangents of the inexact results to cotangents of the active arguments."""
        return self.program(self.run_backward, *self.args, *self.cotangents)

    def run_backward(self, *values: Any) -> list[Any]:
        """Cotangents of the active arguments from arguments and cotangents, under the current trace."""
        return self.pull(values[: len(self.args)], values[len(self.args) :], self.active)


class Case:
    """One primitive with one sample.

    Args:
      primitive: the primitive.
      sample: its arguments and parameters.
      label: the name of the sample in reports.
      siblings: all samples of the primitive.
    """

    def __init__(self, primitive: Primitive, sample: Sample, label: str, siblings: Sequence[Sample] = ()) -> None:
        self.primitive = primitive
        self.sample = sample
        self.label = label
        self.siblings = list(siblings) or [sample]
        self.refs = refs_of(sample)
        self.programs = list(jaxprs_in_params(dict(sample.params)))
        self.memo: dict[str, Any] = {}

    def forget(self) -> None:
        """Drop the programs; the next use makes them again."""
        self.memo.clear()
        for name in ("compiled", "compiles", "native", "double", "complexified"):
            self.__dict__.pop(name, None)

    def bind(self, *args: Any) -> list[Any]:
        """The primitive's results under the current trace, as a list."""
        return self.mapped(self.bind_element)(*args)  # type: ignore[no-any-return]

    def bind_element(self, *args: Any) -> list[Any]:
        """The primitive's results for one element, inside the axes of the sample, as a list."""
        return arrays_of(with_new_contents(self, operands(self.sample, args)))

    def mapped(self, fun: Any) -> Any:
        """A function inside the axes of the sample, as a function of values with these axes in front."""
        for name, size in reversed(list(self.sample.axes.items())):
            fun = over_axis(fun, AxisData(name, size))
        return fun

    def element(self, aval: Any) -> Any:
        """The type inside the axes of the sample, for a value with these axes in front.

        Raises:
          TypeError: the value does not have these axes.
        """
        for name, size in self.sample.axes.items():
            if not aval.shape or aval.shape[0] != size:
                raise TypeError(f"an argument must have axis {name!r} of size {size} in front, got {aval.str_short()}")
            aval = aval.mapped(size, 0)
        return aval

    def abstract_eval(self, avals: Sequence[Any]) -> tuple[list[Any], Effects]:
        """The promised types of the results, and the effects."""
        elements = self._operand_types(avals)
        outs, effects = self.primitive.result_types(elements, dict(self.sample.params))
        outs = [aval.inner_aval if aval.mutable else aval for out in outs for aval in flat(out)]
        if self.refs:
            outs += [elements[i].inner_aval for i in written_operands(self.primitive, elements, self.sample.params)]
        for size in reversed(list(self.sample.axes.values())):
            outs = [aval.unmapped(size, 0) for aval in outs]
        return outs, effects

    def _operand_types(self, avals: Sequence[Any]) -> tuple[Any, ...]:
        """The types of the operands, from those of the arguments."""
        elements = [self.refs[i].to(a) if i in self.refs else a for i, a in enumerate(map(self.element, avals))]
        return tuple(types_of_operands(self.sample, elements))

    @cached_property
    def _result_types(self) -> list[Any]:
        """The types of the results for the sample; none if it is refused."""
        native = self.native
        try:
            with config.enable_x64(native.x64):
                operand_types = self._operand_types(native.avals)
                return list(self.primitive.result_types(operand_types, dict(self.sample.params))[0])
        except Exception:  # a check of its own says why
            return []

    @cached_property
    def has_values(self) -> bool:
        """Whether operands or results are values of users' types."""
        types = (*types_of_operands(self.sample, self.native.avals), *self._result_types)
        return any(aval.composite for aval in types)

    @cached_property
    def rigid_results(self) -> list[int]:
        """The positions of arrays in results whose tangents are not made of such arrays."""
        return rigid_arrays(self._result_types)

    @cached_property
    def has_refs(self) -> bool:
        """Whether operands or results are references; transformations then need no rules of the primitive."""
        if self.refs:
            return True
        has_own_bind = self.primitive.mutable_operands and "bind" in vars(self.primitive)
        return has_own_bind and not any(jaxprs_in_params(dict(self.sample.params)))

    def has(self, *kinds: str) -> bool:
        """Whether there is a rule of any of these kinds, or none is needed."""
        if self.has_refs and not _WITHOUT_RULES.isdisjoint(kinds):
            return True
        if "impl" in kinds and (self.refs or self.has_values):  # the rule takes references or values, not arrays
            return False
        return any(self.primitive in rule_tables[kind] for kind in kinds)

    def require(self, *kinds: str) -> None:
        """Continue only if there is a rule of any of these kinds.

        Raises:
          NotRun: there is none.
        """
        if self.has(*kinds):
            return
        for kind in kinds:
            reason = rule_tables[kind].unsupported.get(self.primitive)
            if reason is not None:
                raise NotRun(f"{kind} is declared unsupported: {reason}")
        raise NotRun(f"there is no {kinds[0]} rule; see the check 'registration'")

    def refuse_unsupported(self, *kinds: str) -> None:
        """Continue only if none of these kinds is declared unsupported.

        Raises:
          NotRun: one of them is.
        """
        for kind in kinds:
            reason = rule_tables[kind].unsupported.get(self.primitive)
            if reason is not None and not self.has_refs:
                raise NotRun(f"{kind} is declared unsupported: {reason}")
            if kind == "transpose" and kind in self.sample.skip:
                raise NotRun(f"skipped by the sample: {self.sample.skip[kind]}")

    def require_evaluation(self) -> None:
        """Continue only if the primitive can be evaluated.

        Raises:
          NotRun: a lowering is declared unsupported, and there is no impl rule.
        """
        if not self.has("impl") and not self.sample.axes:
            self.refuse_unsupported("lowering")

    @property
    def has_unsupported_transpose(self) -> bool:
        """Whether reverse mode is declared unsupported, or the sample skips it."""
        unsupported = self.primitive in rule_tables["transpose"].unsupported and not self.has_refs
        return unsupported or "transpose" in self.sample.skip

    @property
    def constant(self) -> tuple[int, ...]:
        """The positions of arguments without a derivative: the sample's `constant`, and those declared `nondiff`."""
        declared = getattr(rule_tables["jvp"].functions.get(self.primitive), "nondiff", ())
        return (*self.sample.constant, *positions_of_arrays(self.sample, declared))

    @property
    def reverse_only(self) -> bool:
        """Whether there are derivatives only in reverse mode, as with `vjp`."""
        return getattr(rule_tables["jvp"].functions.get(self.primitive), "reverse_only", False)

    @cached_property
    def has_lowering(self) -> bool:
        """Whether there is a lowering for any platform, or none is needed."""
        return (
            self.has_refs
            or self.has_values
            or any(
                (key[0] if isinstance(key, tuple) else key) is self.primitive
                for key in rule_tables["lowering"].functions
            )
        )

    @cached_property
    def compiled(self) -> Program | None:
        """The primitive with the sample in its own types; None if it cannot be compiled."""
        if not self.has_lowering and not self.sample.axes:  # along such axes it becomes other primitives
            return None
        try:
            return Program(self.bind, self.native.args, x64=self.native.x64)
        except Exception:
            return None

    @cached_property
    def compiles(self) -> bool:
        """Whether programs with this primitive are compiled."""
        if not self.has_lowering and not self.sample.axes:
            return False
        # Checks fail with the compiler's error, unless they can do without the program.
        return self.compiled is not None or not self.has("impl")

    @cached_property
    def native(self) -> Setting:
        """The sample in its own types."""
        x64 = config.enable_x64.value or self.holds_wide_program
        with config.enable_x64(x64):
            avals = [get_aval(x) for x in self.sample.args]
            args = [
                np.asarray(x).astype(a.dtype) if is_array_type(a) else x
                for x, a in zip(self.sample.args, avals, strict=True)
            ]
        return Setting(self, args, x64)

    @property
    def holds_wide_program(self) -> bool:
        """Whether a program among the parameters takes values of 64 bits."""
        return any(
            is_array_type(aval) and aval.dtype.name in ("float64", "complex128", "int64", "uint64")
            for jaxpr in self.programs
            for aval in jaxpr.in_avals
        )

    @cached_property
    def double(self) -> Setting:
        """The sample in double precision, or in its own types if the primitive refuses that."""
        native = self.native
        if not self.programs:
            args = [
                double(x) if is_array_type(a) and dtypes.is_inexact(a.dtype) else x
                for x, a in zip(native.args, native.avals, strict=True)
            ]
            setting = Setting(self, args, True)
            if refusal(setting) is None:
                return setting
        return native

    @cached_property
    def complexified(self) -> Setting | None:
        """The sample with complex arguments; None if the primitive refuses them or has a complex sample."""
        double = self.double
        if self.programs or not double.active or any(np.iscomplexobj(x) for s in self.siblings for x in s.args):
            return None
        # Off the axes, where functions have branch cuts.
        args = [
            x + np.where(x == 0, 0.25 + 1j, 1j) * direction(x, ("imaginary", i)) if is_inexact(x) else x
            for i, x in enumerate(double.args)
        ]
        setting = Setting(self, args, True)
        return setting if refusal(setting) is None else None

    def other_args(self, setting: Setting, k: int) -> list[Any]:
        """The k-th of several choices of arguments of the setting's types."""
        if k == 0:
            return setting.args
        if self.sample.vary is not None:
            others = self.sample.vary(self.sample.args, k)
            return [
                np.asarray(x).astype(a.dtype) if is_array_type(a) else x
                for x, a in zip(others, setting.avals, strict=True)
            ]
        return [
            varied(x, k) if isinstance(a, ShapedArray) else x for x, a in zip(setting.args, setting.avals, strict=True)
        ]


def over_axis(fun: Any, axis: AxisData) -> Any:
    """A function of flat arguments, mapped over axis 0 of arguments and results; zeros stay symbolic."""

    def run(*stacks: Any) -> list[Any]:
        outs, dims = batch_flat(fun, axis, stacks, [0] * len(stacks))
        return [
            Zero(x.aval.unmapped(axis.size, 0)) if type(x) is Zero else to_dim(x, axis.size, dim, 0)
            for x, dim in zip(outs, dims, strict=True)
        ]

    return run


def is_array_type(aval: Any) -> bool:
    """Whether values of this type are NumPy arrays; keys and tokens are not."""
    return isinstance(aval, ShapedArray) and not dtypes.is_extended(aval.dtype)


def refusal(setting: Setting) -> Exception | None:
    """The error of abstract evaluation at a setting, or None."""
    try:
        _ = setting.out_avals
    except Exception as error:
        return error
    return None


def batched(fun: Any, size: int, values: Sequence[Any], dims: Sequence[int | None]) -> tuple[list[Any], list[Any]]:
    """The results of a function mapped over an axis, and the position of the axis in each."""
    return batch_flat(fun, AxisData(None, size), values, dims)
