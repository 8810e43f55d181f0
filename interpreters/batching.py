"""Batching: a function written for one element, applied along a whole axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import rules
from primax.core.array_protocol import protocol_of
from primax.core.avals import NO_VALUE, ShapedArray, aval_handlers, get_aval, unwrap
from primax.core.closure_lifting import note_derived
from primax.core.config import check_rules
from primax.core.diagnostics import rule_error, shorten
from primax.core.jaxpr import ClosedJaxpr, cached_by_interface, eval_jaxpr
from primax.core.placement import Placement, placed_like
from primax.core.trace import Trace, Tracer, enter, escaped, leakless, thread
from primax.interpreters.rule_calls import ExternalRules, call_rule, escaped_tracer_error, not_array, require_list
from primax.interpreters.rule_checks import check_results, needs_rule_checks, require_operands
from primax.interpreters.staging import trace_to_jaxpr

_table = rules.batch_rules
_functions = _table.functions
_axis_functions = rules.axis_batch_rules.functions
_checked = -1  # the number of changes for which plugins were loaded
_has_external_rule = ExternalRules(_table)

not_mapped = None


def _has_axis_rule(primitive: Any) -> bool:
    """Whether a primitive has an `axis_batch` rule; loads the plugins of primitives made after the last check."""
    global _checked
    changes = rules.loader.changes
    if changes != _checked:
        rules.load_plugins()
        _checked = changes
    return primitive in _axis_functions


class AxisData:
    """The mapped axis: its name (None if it has none) and its length.

    Attributes:
      spmd: the argument `spmd_axis_name` of `vmap`; usually empty.
      placement: the placement of this axis, as that of an array of rank 1; None on one device.
      tag: identifies a use of `vmap`; set for axis-aware rules, for `batch_flat(..., resume=True)`.

    Raises:
      TypeError: the name is not hashable.
    """

    __slots__ = ("name", "placement", "size", "spmd", "tag")

    def __init__(
        self, name: Any, size: int, spmd: tuple[Any, ...] = (), tag: Any = None, placement: Placement | None = None
    ) -> None:
        self.name, self.size, self.spmd, self.tag, self.placement = name, size, spmd, tag, placement
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"the name of a mapped axis must be hashable, got axis_name={name!r}") from None

    def _parts(self) -> tuple[Any, ...]:
        return self.name, self.size, self.spmd, self.placement

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if type(other) is AxisData else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"AxisData(name={self.name!r}, size={self.size!r}, spmd={self.spmd!r}, placement={self.placement!r})"


class BatchTracer(Tracer):
    """A tracer for one element of `value` along axis `dim`."""

    __slots__ = ("aval", "dim", "value")

    def __init__(self, trace: BatchTrace, value: Any, dim: int, aval: Any = None) -> None:
        self._trace = trace
        self.value = value
        self.dim = dim
        self.aval = (get_aval(value) if aval is None else aval).mapped(trace.axis.size, dim)

    @property
    def val(self) -> Any:
        """`value`, by JAX's name."""
        return self.value

    @property
    def batch_dim(self) -> int:
        """`dim`, by JAX's name."""
        return self.dim

    def describe(self) -> str:
        return f"a batched value of type {self.aval.str_short()}"

    def __repr__(self) -> str:
        return f"BatchTracer<{self.aval.str_short()}>(dim={self.dim} of {self.value!r})"


class BatchTrace(Trace):
    """Applies batch rules; the rules run under the parent trace."""

    __slots__ = ("axis",)

    transformation = "vmap"
    short_name = "vmap"

    def __init__(self, parent: Any, axis: AxisData) -> None:
        super().__init__(parent)
        self.axis = AxisData(axis.name, axis.size, axis.spmd, object(), axis.placement)

    def provenance(self, tracer: Any) -> str:
        value = tracer.value
        source = value._trace.provenance(value) if isinstance(value, Tracer) else super().provenance(tracer)
        name = "" if self.axis.name is None else f" named {self.axis.name!r}"
        return f"It is mapped over an axis of size {self.axis.size}{name}.{' ' + source if source else ''}"

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        values = []
        dims: list[int | None] = []
        batched = False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                values.append(x.value)
                dims.append(x.dim)
                batched = True
            else:
                if type(x) not in aval_handlers and unwrap(x) is not x:  # it may stand for a tracer
                    return self.process(primitive, [unwrap(x) for x in args], params)
                values.append(x)
                dims.append(None)
        if not batched and not _has_axis_rule(primitive):
            return self.parent.process(primitive, values, params)
        check = require_operands(primitive, args, params, 2) if needs_rule_checks[primitive] else None
        rule = _functions.get(primitive)
        if rule is None:
            returned = self.call_axis_rule(primitive, tuple(values), tuple(dims), params)
        else:
            returned = call_rule(self.parent, _table, primitive, rule, tuple(values), tuple(dims), params=params)
        if type(returned) is tuple and len(returned) == 2 and not primitive.multiple_results:
            results = self.tracer(primitive, *returned)  # avoids a call of `results`
        else:
            results = self.results(primitive, returned)
        if check is not None:
            check.compare(_table_of(primitive), results)
        return results

    def call_axis_rule(self, primitive: Any, values: Any, dims: Any, params: dict[str, Any]) -> Any:
        """The result of the primitive's `axis_batch` rule, or of a `batch` rule that is loaded now."""
        rule = _axis_functions.get(primitive) or rules.axis_batch_rules.get_or_load(primitive)
        if rule is not None:
            table = rules.axis_batch_rules
            return call_rule(self.parent, table, primitive, rule, self.axis, values, dims, params=params)
        rule = _table.find(primitive, self.transformation)
        return call_rule(self.parent, _table, primitive, rule, values, dims, params=params)

    def results(self, primitive: Any, returned: Any) -> Any:
        """The results of a rule as tracers; results without a batch axis as plain values.

        Raises:
          RuleError: the rule did not return the results and their batch axes.
        """
        try:
            out, dim = returned
        except (TypeError, ValueError):
            raise rule_error(
                _table_of(primitive), primitive, f"must return (out, dim), got {shorten(returned)}"
            ) from None
        if not primitive.multiple_results:
            return self.tracer(primitive, out, dim)
        require_list(_table_of(primitive), primitive, out)
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(out)
        if len(out) != len(dims):
            text = f"returned {len(out)} outputs but {len(dims)} dims"
            raise rule_error(_table_of(primitive), primitive, text)
        return [self.tracer(primitive, x, d) for x, d in zip(out, dims, strict=True)]

    def tracer(self, primitive: Any, value: Any, dim: Any) -> Any:
        """The result of a batch rule as a tracer; a plain value if it has no batch axis."""
        try:
            aval = get_aval(value)
        except NO_VALUE as error:
            raise not_array(_table_of(primitive), primitive, value) from error
        if _has_external_rule[primitive] and isinstance(value, Tracer) and not value._trace.alive:
            raise escaped_tracer_error(_table_of(primitive), primitive, value)
        if dim is None:
            return value
        shape = aval.shape
        if dim.__class__ is not int:
            dim = _as_int(dim)
        if dim.__class__ is not int or not 0 <= dim < len(shape) or shape[dim] != self.axis.size:
            raise rule_error(
                _table_of(primitive),
                primitive,
                f"returned dim {shorten(dim)} for an output of shape {shape}; it must be None "
                f"or the position of the mapped axis, whose size is {self.axis.size}",
            )
        return BatchTracer(self, value, dim, aval)


def _as_int(dim: Any) -> Any:
    """A batch axis as a Python int if it is another integer type, such as NumPy's; other values unchanged."""
    return int(dim) if isinstance(dim, int | np.integer) and not isinstance(dim, bool | np.timedelta64) else dim


class CheckedBatchTrace(BatchTrace):
    """Checks the type of every element that a rule returns against the type that the primitive promises."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        out = super().process(primitive, args, params)
        check_results(_table_of(primitive), primitive, args, params, out)
        return out


class PlacedBatchTrace(BatchTrace):
    """Places the mapped axis of every value like that of the arguments."""

    __slots__ = ()

    def tracer(self, primitive: Any, value: Any, dim: Any) -> Any:
        out = super().tracer(primitive, value, dim)
        if type(out) is not BatchTracer:
            return out
        placed = placed_along(self.axis, out.value, out.dim)
        return out if placed is out.value else BatchTracer(self, placed, out.dim)


class ResumedBatchTrace(BatchTrace):
    """Maps a function that closes over values of a `vmap`, running or ended, as that `vmap` would."""

    __slots__ = ()

    def __init__(self, parent: Any, axis: AxisData) -> None:
        super().__init__(parent, axis)
        if axis.tag is not None:
            self.axis = axis

    def continues(self, other: Any) -> bool:
        return isinstance(other, BatchTrace) and other.axis.tag is self.axis.tag

    def own(self, x: Any) -> Any:
        """A value of the resumed `vmap` as a value of this trace."""
        if type(x) is BatchTracer and x._trace is not self and self.continues(x._trace):
            return BatchTracer(self, x.value, x.dim)
        return x

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        return super().process(primitive, [self.own(x) for x in args], params)


def _table_of(primitive: Any) -> rules.RuleTable:
    """The table that has the batch rule of a primitive."""
    return _table if primitive in _functions else rules.axis_batch_rules


def broadcast(x: Any, size: int, dim: int) -> Any:
    """`size` copies of `x` along a new axis `dim`."""
    return protocol_of(get_aval(x)).broadcast(x, size, dim)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """`x` with axis `source` moved to `destination`."""
    return x if source == destination else protocol_of(get_aval(x)).moveaxis(x, source, destination)


def to_dim(x: Any, size: int, dim: int | None, wanted: int | None) -> Any:
    """A value batched at `dim` (or not at all), with the batch axis moved to `wanted`."""
    if wanted is None or dim == wanted:
        return x
    if dim is None:
        return broadcast(x, size, wanted)
    return moveaxis(x, dim, wanted)


def placed_along(axis: AxisData, x: Any, dim: int | None) -> Any:
    """A value batched at `dim`, whose mapped axis is placed like that of the arguments."""
    if axis.placement is None or dim is None:
        return x
    aval = get_aval(x)
    placement = axis.placement.along(aval.placement, len(aval.shape), dim)
    return x if placement is aval.placement else placed_like(x, aval.update(placement=placement))


def stacked_type(axis: AxisData, aval: Any, dim: int | None) -> Any:
    """The type of a batch of values of a type, along a new axis `dim`; the type itself if `dim` is None."""
    out = aval if dim is None else aval.unmapped(axis.size, dim)
    if axis.placement is None or dim is None or not isinstance(out, ShapedArray):
        return out
    return out.update(placement=axis.placement.along(out.placement, len(out.shape), dim))


def stacked(axis: AxisData, x: Any, dim: int | None, wanted: int | None) -> Any:
    """A value batched at `dim` (or not at all), as a value batched at `wanted`, placed like the arguments."""
    if wanted is None:
        return x
    return placed_along(axis, to_dim(x, axis.size, dim, wanted), wanted)


def bdim_at_front(x: Any, dim: int | None, size: int) -> Any:
    """A value with its batch axis first; it is broadcast if it has none."""
    return to_dim(x, size, dim, 0)


@leakless
def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis: AxisData,
    values: Sequence[Any],
    dims: Sequence[int | None],
    resume: bool = False,
) -> tuple[list[Any], list[int | None]]:
    """The outputs of a function of flat arguments, applied to a batch, and their batch axes.

    Args:
      fun: takes one value per argument, and returns a list of values.
      axis: the mapped axis.
      values: the arguments.
      dims: for each argument its batch axis, or None.
      resume: for axis-aware rules of primitives that hold Python functions. The functions may close over values of
        the `vmap` that applies the rule; these values are mapped, too. `axis` must be that of the rule.
    """
    kind: type[BatchTrace] = ResumedBatchTrace if resume else CheckedBatchTrace if check_rules.value else BatchTrace
    if axis.placement is not None:
        kind = PlacedBatchTrace if kind is BatchTrace else kind
        values = [placed_along(axis, x, d) for x, d in zip(values, dims, strict=True)]
    trace = kind(thread.trace, axis)
    args = [x if d is None else BatchTracer(trace, x, d) for x, d in zip(values, dims, strict=True)]
    mutable: list[tuple[int, int, BatchTracer]] = []
    for i, d in enumerate(dims):
        if d is not None and args[i].aval.mutable:
            first = BatchTracer(trace, args[i].aval.read(values[i]), d)
            mutable.append((i, d, first))
            args[i] = args[i].aval.cell(trace, first)
    axes = thread.axes
    inner_axes = axes if axis.name is None else {**axes, axis.name: axis.size}
    before = enter(trace)
    try:
        thread.axes = inner_axes
        outs = fun(*args)
    finally:
        thread.axes = axes
        enter(before)
        trace.end()
    for i, dim, first in mutable:
        new = args[i].aval.last(args[i], first)
        if new is not None:
            is_own = type(new) is BatchTracer and new._trace is trace
            args[i].aval.write(values[i], stacked(axis, new.value if is_own else new, new.dim if is_own else None, dim))
    out_values: list[Any] = []
    out_dims: list[int | None] = []
    for out in map(trace.own, outs) if isinstance(trace, ResumedBatchTrace) else outs:
        if type(out) is BatchTracer and out._trace is trace:
            out_values.append(out.value)
            out_dims.append(out.dim)
        else:
            if isinstance(out, Tracer) and not out._trace.alive:
                raise escaped(out)
            out_values.append(out)
            out_dims.append(None)
    return out_values, out_dims


def batch_jaxpr(
    closed: ClosedJaxpr, axis: AxisData, dims: Sequence[int | None], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[int | None]]:
    """The batched program.

    Args:
      closed: a program for one element.
      axis: the mapped axis.
      dims: for each input its batch axis, or None.
      instantiate: for each output (or for all) whether it must be batched, at axis 0, in any case.

    Returns:
      The program, and for each output its batch axis or None.
    """
    flags = [instantiate] * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    required = tuple([0 if flag else None for flag in flags])

    def make() -> tuple[ClosedJaxpr, list[int | None]]:
        out_dims: list[int | None] = []

        def run(*args: Any) -> list[Any]:
            outs, dims_out = batch_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis, args, dims)
            out_dims.extend(dim if want is None else want for dim, want in zip(dims_out, required, strict=True))
            return [stacked(axis, x, dim, want) for x, dim, want in zip(outs, dims_out, required, strict=True)]

        avals = [stacked_type(axis, aval, dim) for aval, dim in zip(closed.in_avals, dims, strict=True)]
        return note_derived(trace_to_jaxpr(run, avals, closed.jaxpr.debug_info)), out_dims

    return cached_by_interface(closed, ("batch", axis, tuple(dims)), required, make)
