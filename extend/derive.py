"""Rules that are made from others, asked for by putting these in their place.

`define_primitive`, `registry.define` and the rule tables take them alike, as in `batch=derive.loop`.

| | makes | from |
|---|---|---|
| `from_impl` | abstract_eval, jvp, transpose, batch, lowering | an impl that is written in primax operations |
| `from_lowering` | impl | a lowering, by compiling it for each signature |
| `linear` | jvp | the primitive, which is linear in all its arguments together |
| `loop` | batch | the primitive, which is bound once for each element |
| `by(factory, ...)` | any | what `factory(primitive, ...)` returns |
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from primax.core.author import author, is_surface
from primax.core.avals import get_aval
from primax.core.derivation import Derivation
from primax.core.dtypes import float0
from primax.core.errors import RuleError
from primax.core.protocol import protocol_of
from primax.core.rules import lowering_rules
from primax.core.thread import thread
from primax.extend.interpreters.ad import is_undefined_primal, jvp_flat, linear_jvp, linear_tape
from primax.extend.interpreters.batching import AxisData, batch_flat, moveaxis
from primax.interpreters.backend import put_value
from primax.interpreters.evaluate import apply_primitive
from primax.interpreters.lowering import lower_fun
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Derivation", "by", "from_impl", "from_lowering", "linear", "loop"]

Rule = Callable[..., Any]
Maker = Callable[[Any, Any], Rule]

_logger = logging.getLogger(__name__)


class _Recipe(Derivation):
    """A derivation of some kinds of rules.

    Args:
      spelling: how authors write it.
      makers: by kind, `(primitive, source) -> rule`.
      source: the kind of rule that it starts from; empty if it needs none.
      origin: what provenance says that the rule is derived from.
    """

    def __init__(self, spelling: str, makers: Mapping[str, Maker], source: str, origin: str) -> None:
        self.spelling = spelling
        self.makers = makers
        self.source = source
        self.origin = origin

    def __repr__(self) -> str:
        return self.spelling

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        maker = self.makers.get(kind)
        if maker is None:
            raise TypeError(f"{where}: {kind} cannot be {self}, which makes rules of kind {', '.join(self.makers)}")
        source = others.get(self.source)
        if self.source and source is None:
            raise TypeError(f"{where}: {kind} can be {self} only if there is a rule {self.source}, which is not given")
        if isinstance(source, Derivation) or hasattr(source, "derived_from"):
            raise TypeError(f"{where}: {kind} cannot be {self}, since the {self.source} rule is derived itself")
        rule: Any = maker(primitive, source)
        rule.__name__ = f"{kind}({primitive})"
        rule.derived_from = self.origin
        if callable(source):
            rule.func = source  # where it was written
        return _placed(rule)


class _Made(Derivation):
    """What a factory of rules makes, once there is a primitive to hand it."""

    def __init__(self, factory: Rule, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.factory = factory
        self.args = args
        self.options = options

    def __repr__(self) -> str:
        return f"derive.by({getattr(self.factory, '__name__', self.factory)})"

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        rule = self.factory(primitive, *self.args, **self.options)
        if not callable(rule):
            raise TypeError(f"{where}: the factory of {kind}={self} must return a rule, got {rule!r}")
        return _placed(rule)


def _placed(rule: Any) -> Rule:
    """A rule that knows where it was asked for, if all of it was written here."""
    written = rule
    while hasattr(written, "func"):
        written = written.func
    if isinstance(rule, FunctionType) and is_surface(getattr(written, "__module__", None) or ""):
        who = author()
        rule.asked_at = who.file, who.line  # type: ignore[attr-defined]
    return rule  # type: ignore[no-any-return]


def by(factory: Rule, *args: Any, **options: Any) -> Derivation:
    """The rule that a factory makes for the primitive, for use where there is no primitive yet.

    Args:
      factory: takes the primitive first, such as `batching.vectorized` or `ad.standard_jvp`.
      args: what it takes besides.
      options: its keyword arguments.

    Raises:
      TypeError: `factory` is not callable.

    >>> from primax.extend import derive
    >>> from primax.extend.interpreters import batching
    >>> derive.by(batching.vectorized)
    derive.by(vectorized)
    """
    if not callable(factory):
        raise TypeError(f"derive.by: factory must be a function, got {factory!r}")
    return _Made(factory, args, options)


class _Program:
    """An impl that other rules run on tracers, as a function that returns a list."""

    def __init__(self, primitive: Any, impl: Rule) -> None:
        self.primitive = primitive
        self.impl = impl

    def on(self, params: Mapping[str, Any]) -> Callable[..., list[Any]]:
        """The function for these parameters."""

        def run(*args: Any) -> list[Any]:
            out = self.impl(*map(_typed, args), **params)
            return self.outputs(out)

        run.__name__ = self.primitive.name
        return run

    def outputs(self, out: Any) -> list[Any]:
        if not self.primitive.multiple_results:
            return [out]
        if isinstance(out, list | tuple):
            return list(out)
        raise RuleError(
            f"the impl rule of {self.primitive} must return a list, since multiple_results is True, got {out!r}"
        )

    def returned(self, outs: Sequence[Any]) -> Any:
        """Outputs as a rule returns them."""
        return list(outs) if self.primitive.multiple_results else outs[0]

    @contextmanager
    def explained(self, kind: str, must: str = "be written in primax operations") -> Iterator[None]:
        """Errors say which rule the impl was run for, and what it must be like."""
        try:
            yield
        except Exception as error:
            code = getattr(self.impl, "__code__", None)
            place = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
            error.add_note(
                f"The {kind} rule of {self.primitive} is derived from its impl{place}, which for this must {must}."
            )
            raise


def _typed(x: Any) -> Any:
    """A host value as an array of the type that a program sees: NumPy would compute in its own."""
    if not isinstance(x, np.ndarray | np.generic | bool | int | float | complex):
        return x
    aval = get_aval(x)
    return x if aval.dtype == float0 else put_value(x, aval.weak_type)


def _abstract_eval_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(*avals: Any, **params: Any) -> Any:
        with program.explained("abstract_eval"):
            closed = trace_to_jaxpr(program.on(params), avals)
        if closed.effects:
            raise RuleError(
                f"the abstract_eval rule of {primitive} cannot be derived from its impl, which has effects "
                f"{sorted(map(str, closed.effects))}; derive effectful_abstract_eval instead"
            )
        return program.returned(closed.out_avals)

    return rule


def _effectful_abstract_eval_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(*avals: Any, **params: Any) -> Any:
        with program.explained("effectful_abstract_eval"):
            closed = trace_to_jaxpr(program.on(params), avals)
        return program.returned(closed.out_avals), closed.effects

    return rule


def _jvp_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        with program.explained("jvp"):
            outs, out_tangents = jvp_flat(program.on(params), primals, tangents)
        return program.returned(outs), program.returned(out_tangents)

    return rule


def _transpose_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(ct: Any, *args: Any, **params: Any) -> list[Any]:
        linear = [i for i, x in enumerate(args) if is_undefined_primal(x)]

        def run(*xs: Any) -> list[Any]:
            values = list(args)
            for i, x in zip(linear, xs, strict=True):
                values[i] = x
            return program.on(params)(*values)

        with program.explained("transpose", "be written in primax operations and linear"):
            tape = linear_tape(run, [args[i].aval for i in linear])
            found = tape.transpose(ct if primitive.multiple_results else [ct])
        cts: list[Any] = [None] * len(args)
        for i, x in zip(linear, found, strict=True):
            cts[i] = x
        return cts

    return rule


def _axis_batch_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
        with program.explained("batch"):
            outs, out_dims = batch_flat(program.on(params), axis, args, dims)
        return program.returned(outs), program.returned(out_dims)

    return rule


def _batch_from(primitive: Any, impl: Rule) -> Rule:
    by_axis = _axis_batch_from(primitive, impl)

    def rule(args: Any, dims: Any, **params: Any) -> Any:
        return by_axis(AxisData(None, _size(args, dims)), args, dims, **params)

    return rule


def _lowering_from(primitive: Any, impl: Rule) -> Rule:
    program = _Program(primitive, impl)

    def rule(ctx: Any, *args: Any, **params: Any) -> list[Any]:
        with program.explained("lowering"):
            return lower_fun(program.on(params))(ctx, *args)

    return rule


def _compiled(primitive: Any, lowering: Any) -> Rule:
    def rule(*args: Any, **params: Any) -> Any:
        return apply_primitive(primitive, *args, **params)

    return rule


_FEW = 16  # elements: for more of them, copies of a primitive take too long to compile


def _loop(primitive: Any, source: None) -> Rule:
    single = not primitive.multiple_results

    def rule(args: Any, dims: Any, **params: Any) -> Any:
        size = _size(args, dims)
        _logger.info("vmap binds %s %d times, for want of a better batch rule than derive.loop", primitive, size)
        avals = [get_aval(x) for x in args]
        mapped = [i for i, dim in enumerate(dims) if dim is not None]

        def one(*elements: Any) -> list[Any]:
            values = list(args)
            for i, x in zip(mapped, elements, strict=True):
                values[i] = x
            out = primitive.bind(*values, **params)
            return [out] if single else list(out)

        each = tuple(a if dim is None else a.mapped(size, dim) for a, dim in zip(avals, dims, strict=True))
        loop = protocol_of(avals[mapped[0]]).loop
        if size == 0:
            outs = [protocol_of(a).zeros(a.unmapped(0, 0)) for a in primitive.abstract_eval(each, params)[0]]
        elif size > _FEW and loop is not None and _fits_in_a_program(primitive, each, params):
            outs = loop(one, [moveaxis(args[i], dims[i], 0) for i in mapped])
        else:
            rows = [one(*(protocol_of(avals[i]).index(args[i], k, dims[i]) for i in mapped)) for k in range(size)]
            outs = [protocol_of(get_aval(column[0])).stack(column, 0) for column in zip(*rows, strict=True)]
        return (outs[0], 0) if single else (outs, [0] * len(outs))

    return rule


def _fits_in_a_program(primitive: Any, avals: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether a loop of a program may hold the primitive; if nothing but evaluation is at work, it need not."""
    return thread.trace.tracing and primitive in lowering_rules and not primitive.abstract_eval(avals, params)[1]


def _size(args: Any, dims: Any) -> int:
    return int(next(get_aval(x).shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None))


from_impl = _Recipe(
    "derive.from_impl",
    {
        "abstract_eval": _abstract_eval_from,
        "effectful_abstract_eval": _effectful_abstract_eval_from,
        "jvp": _jvp_from,
        "transpose": _transpose_from,
        "batch": _batch_from,
        "axis_batch": _axis_batch_from,
        "lowering": _lowering_from,
    },
    "impl",
    "impl",
)
from_lowering = _Recipe("derive.from_lowering", {"impl": _compiled}, "lowering", "lowering")
linear = _Recipe("derive.linear", {"jvp": lambda primitive, source: linear_jvp(primitive)}, "", "linearity")
loop = _Recipe("derive.loop", {"batch": _loop}, "", "a loop")
