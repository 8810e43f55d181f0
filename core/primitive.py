"""Primitives: the operations of a program, named, and bound through the current trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

import numpy as np

from primax.core import placement, rules
from primax.core.arguments import nearest
from primax.core.avals import AbstractValue, ShapedArray
from primax.core.cache import Cache
from primax.core.cache_keys import is_hashable, params_key
from primax.core.call_errors import refuse_call
from primax.core.closure_lifting import using, with_operands
from primax.core.diagnostics import add_rule_note, rule_error, shorten, user_line
from primax.core.effects import Effect, Effects, OperandEffect, kind_of, no_effects
from primax.core.errors import MissingRuleError
from primax.core.jaxpr import holds_program
from primax.core.operand import Operand
from primax.core.trace import Tracer, set_current_trace
from primax.core.trace_state import Thread, thread
from primax.core.trusted_modules import is_proven

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from primax.core.operand_methods import Array

    Result = TypeVar("Result", default=Any)
else:
    from typing import TypeVar

    Result = TypeVar("Result")


class Primitive(Generic[Result]):
    """An operation with rules. To type checkers it is generic in the result of `bind`: an array, or a list of them.

    Args:
      name: the name in jaxprs and messages.
      multiple_results: whether its rules return lists.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_accepted",
        "_parameters",
        "full_name",
        "module",
        "multiple_results",
        "name",
        "plugin",
        "programs",
        "types",
        "used",
    )

    mutable_operands = False  # whether operands may be references; `bind` then decides what happens
    takes_types = False  # whether operands may be values of any user-defined type
    form_of: Primitive | None = None  # the primitive of which this is a form, and whose name programs show

    @overload
    def __init__(self: Primitive[Array], name: str, *, multiple_results: Literal[False] = False) -> None: ...
    @overload
    def __init__(self: Primitive[list[Array]], name: str, *, multiple_results: Literal[True]) -> None: ...
    @overload
    def __init__(self: Primitive[Any], name: str, *, multiple_results: bool) -> None: ...
    def __init__(self, name: str, *, multiple_results: bool | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"Primitive: name must be a non-empty string, got {name!r}")
        self.name = name
        if multiple_results is None:  # a subclass may set it for all its primitives
            multiple_results = getattr(type(self), "multiple_results", None) is True
        if not isinstance(multiple_results, bool):
            raise TypeError(f"Primitive: multiple_results must be True or False, got {multiple_results!r}")
        self.multiple_results = multiple_results
        self.plugin: str | None = None
        self.full_name = ""  # such as `beta::scale`, if primitives of several plugins have the same name
        self._parameters: dict[str, Any] | None = None  # types and predicates by name
        self.module: str = sys._getframe(1).f_globals.get("__name__", "")  # names the plugin in import errors
        self.types = Cache(8192)  # the types of its results, and its effects
        self.programs = Cache(8192)  # programs that compute it outside of transformations
        self._accepted = Cache(8192)  # hashes of signatures for which its rules were checked against its types
        self.used = False  # whether any program may contain it
        rules.loader.changes += 1
        kind = type(self)
        if kind is not Primitive:
            self._take_rules_of(kind)

    def _take_rules_of(self, kind: type[Primitive[Any]]) -> None:
        """Take the methods `impl` and `abstract_eval` of a subclass as rules, as JAX does."""
        if kind.impl is not Primitive.impl:
            rules.impl_rules[self] = self.impl
        if kind.abstract_eval is not Primitive.abstract_eval:
            rules.effectful_abstract_eval_rules[self] = self.abstract_eval

    def __repr__(self) -> str:
        return self.full_name or self.name

    def __reduce__(self) -> Any:
        for attribute, value in vars(sys.modules[self.module]).items():
            if value is self:
                return _attribute, (self.module, attribute, f"{self.plugin}::{self.name}" if self.plugin else self.name)
        raise TypeError(
            f"Primitive: to be pickled, {self.name} must be an attribute of its module, but is none of {self.module!r}"
        )

    def bind(self, /, *args: Any, **params: Any) -> Result:
        """Apply the primitive under the current trace.

        Args:
          args: array values, tracers or scalars.
          params: static parameters, hashable.

        Returns:
          One value, or a list if `multiple_results`.
        """
        trace = thread.trace
        if using:
            args, params = with_operands(self, args, params)
        if trace.converts_operands:
            args = placement.rules.match_operands(self, args, params)
        return trace.process(self, args, params)  # type: ignore[no-any-return]

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters for binding an equation again; unchanged unless a subclass overrides this."""
        return params

    def declare_parameters(self, parameters: Mapping[str, Any] | None) -> None:
        """Declare the parameters of the primitive.

        Args:
          parameters: for each name the type of its values, or a predicate, or None for any value.

        Raises:
          TypeError: `parameters` is not a mapping from names to types and functions.
        """
        require_declaration(str(self), parameters)
        self._parameters = None if parameters is None else dict(parameters)

    def def_impl(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register the impl rule; usable as a decorator. An earlier value of `impl` restores the rule of that time."""
        if getattr(rule, "default_of", None) is self:
            rules.impl_rules.pop(self, None)
        else:
            rules.impl_rules[self] = rule
        self.programs.clear()  # drop programs that used a lowering
        return rule

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register the abstract evaluation rule; usable as a decorator."""
        rules.abstract_eval_rules[self] = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register an abstract evaluation rule that returns `(avals, effects)`; usable as a decorator."""
        rules.effectful_abstract_eval_rules[self] = rule
        return rule

    @property
    def impl(self) -> Callable[..., Any]:
        """The function that computes the primitive, regardless of the current trace, by the rule that it has now.

        A rule that replaces it may call it. For tracers it runs a user's rule under their trace, as in JAX, or binds.
        """
        rule = rules.impl_rules.functions.get(self)
        programs: dict[Any, Any] = {}

        def impl(*args: Any, **params: Any) -> Any:
            if any(isinstance(x, Tracer) for x in args):
                return self.bind(*args, **params) if rule is None or is_proven(self.module) else rule(*args, **params)
            with set_current_trace(Thread.trace):
                if rules.impl_rules.functions.get(self) is rule:
                    return Thread.trace.process(self, args, params)
                return rule(*args, **params) if rule else Thread.trace.without_impl(self, args, params, programs)

        impl.default_of = None if rule else self  # type: ignore[attr-defined]
        return impl

    def has_type_rule(self) -> bool:
        """Whether the primitive has a rule for the types of its results."""
        return self in rules.abstract_eval_rules or self in rules.effectful_abstract_eval_rules

    def abstract_eval(self, /, *args: Any, **named: Any) -> tuple[Any, Effects]:
        """The types of the outputs, and the effects. Cached.

        Args:
          args: a tuple of the types of the operands and a dictionary of the parameters; the types of the outputs are
            then always a list. Or, as in JAX, the types of the operands one by one.
          named: the parameters, for operands one by one.
        """
        if len(args) == 2 and type(args[0]) is tuple and type(args[1]) is dict:
            return self.result_types(*args)
        outs, effects = self.result_types(args, named)
        return outs if self.multiple_results else outs[0], effects

    def result_types(self, avals: tuple[Any, ...], params: dict[str, Any]) -> tuple[list[Any], Effects]:
        """The types of the outputs, always as a list, and the effects. Cached.

        Args:
          avals: the types of the operands.
          params: the parameters.
        """
        if any(holds_program(value, or_function=True) for value in params.values()):
            return self._abstract_eval(avals, params)  # not cached: the result may keep the program alive
        key: Any = (*avals, thread.config)
        if params:
            key = (key, params_key(params))
        try:
            return self.types.get_or_make(key, lambda: self._abstract_eval(avals, params))  # type: ignore[no-any-return]
        except TypeError:
            if is_hashable(key):
                raise
            refuse_unhashable(self, params)
            return self._abstract_eval(avals, params)

    def _abstract_eval(self, avals: tuple[Any, ...], params: dict[str, Any]) -> tuple[list[Any], Effects]:
        if self._parameters is not None:
            _check_parameters(self, params)
        if "bind" in vars(self):  # plugins wait for the first `bind`, and `Primitive.bind` was called instead
            rules.loader.complete(self)
        if not self.mutable_operands and any(aval.mutable for aval in avals):
            raise TypeError(f"{self}: operands must be arrays or numbers, got a reference; read it by ref[...]")
        if any(aval.composite for aval in avals):
            _require_rule_for_types(self, avals, params)
        effects: Effects = no_effects
        table = rules.abstract_eval_rules
        rule = table.functions.get(self)
        if rule is None:
            rule = rules.effectful_abstract_eval_rules.get_or_load(self)
            if rule is None or self in table.functions:
                rule = table.find(self)
            else:
                table = rules.effectful_abstract_eval_rules
        try:
            out = rule(*avals, **params)
        except Exception as error:
            if isinstance(error, TypeError):
                refuse_call(self, rule, avals, params)
            add_rule_note(error, table, self)
            raise
        if table is rules.effectful_abstract_eval_rules:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise rule_error(table, self, f"must return (avals, effects), got {shorten(out)}")
            out, effects = out[0], _effects(table, self, out[1], len(avals))
        if self.multiple_results:
            if not isinstance(out, list | tuple):
                must = "must return a list of avals, since multiple_results is True"
                raise rule_error(table, self, f"{must}, got {shorten(out)}")
            outs = list(out)
        else:
            outs = [out]
        for one in outs:
            if not isinstance(one, AbstractValue):
                must = "avals" if self.multiple_results else "an aval"
                several = f"; several results need Primitive({self.name!r}, multiple_results=True)"
                hint = several if isinstance(one, list | tuple) else "; make it core.ShapedArray(shape, dtype)"
                raise rule_error(table, self, f"must return {must}, got {shorten(one)} for {shorten(avals)}{hint}")
            if isinstance(one, ShapedArray) and any(size < 0 for size in one.shape):
                raise rule_error(table, self, f"must return sizes of axes that are not negative, got shape {one.shape}")
        self.used = True
        for aval in avals:
            if getattr(aval, "placement", None) is not None:
                return placement.rules.result_placements(self, avals, outs, params), effects
        return outs, effects


def _require_rule_for_types(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise an error for a value of a user's type as an operand of a primitive of primax that holds no program."""
    holds = any(holds_program(value, or_function=True) for value in params.values())
    if holds or primitive.takes_types or primitive.form_of is not None or not is_proven(primitive.module):
        return
    aval = next(aval for aval in avals if aval.composite)
    kind = type(aval)
    raise MissingRuleError(
        f"{primitive} has no rules for values of type {aval.str_short()}.\n"
        f"  Used at {user_line()}.\n"
        f"  The package of {kind.__name__}, {kind.__module__}, can give them to a primitive of its own, and enter it: "
        f"core.register_on_type({primitive.name}_p, {kind.__name__}, its_primitive)."
    )


def require_declaration(where: str, parameters: Any) -> None:
    """Raise an error for an invalid declaration of parameters.

    Args:
      where: the name of the called function, for messages.
      parameters: as for `Primitive.declare_parameters`.

    Raises:
      TypeError: `parameters` is not a mapping from names to types and functions.
    """
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):
        raise TypeError(f"{where}: parameters must be a mapping from names to types or functions, got {parameters!r}")
    for name, kind in parameters.items():
        if not isinstance(name, str) or not (callable(kind) or isinstance(kind, UnionType)):
            raise TypeError(f"{where}: parameters must map names to types or functions, got {name!r}: {kind!r}")


def _check_parameters(primitive: Primitive, params: dict[str, Any]) -> None:
    """Check parameters against their declaration.

    Raises:
      TypeError: a parameter is unknown, missing, or of another type.
      ValueError: a predicate returned False.
    """
    declared: dict[str, Any] = primitive._parameters or {}
    for name in params:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise TypeError(f"{primitive}: parameters must be among {known}, got {name}{nearest(name, declared)}")
    for name, kind in declared.items():
        if name not in params:
            raise TypeError(f"{primitive}: parameter {name} must be given")
        value = params[name]
        if isinstance(kind, type | UnionType):
            if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
                expected = kind.__name__ if isinstance(kind, type) else str(kind)
                raise TypeError(f"{primitive}: parameter {name} must be of type {expected}, got {shorten(value)}")
        elif not kind(value):
            says = getattr(kind, "__name__", repr(kind))
            must = "satisfy its check" if says == "<lambda>" else f"satisfy {says}"
            raise ValueError(f"{primitive}: parameter {name} must {must}, got {shorten(value)}")


def refuse_unhashable(primitive: Primitive, params: dict[str, Any]) -> None:
    """Raise an error for a parameter without a hash. Primitives of proven plugins may have such parameters.

    Raises:
      TypeError: another primitive has a parameter without a hash.
    """
    rules.loader.discover()
    if is_proven(primitive.module):
        return
    for name, value in params.items():
        if not is_hashable(value):
            is_array = isinstance(value, Operand | np.ndarray) or (
                isinstance(value, tuple | list) and any(isinstance(x, Operand | np.ndarray) for x in value)
            )
            remedy = "pass it as an operand, that is by position" if is_array else _HASHABLE.get(type(value), "")
            raise TypeError(
                f"{primitive}: parameter {name} must be hashable, got {shorten(value)}; parameters are static"
                f"{remedy and f': {remedy}'}"
            )


_HASHABLE: dict[type, str] = {list: "make it a tuple", dict: "make it a tuple of pairs", set: "make it a frozenset"}


def _attribute(module: str, name: str, primitive: str = "") -> Any:
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if not primitive or not f"{module}.".startswith(f"{error.name}."):
            raise
        plugin = primitive.rpartition("::")[0]
        whose = f"of plugin {plugin!r}, " if plugin else ""
        raise ModuleNotFoundError(
            f"primitive {primitive!r} cannot be unpickled: its module {module!r}, {whose}is not installed",
            name=error.name,
        ) from None


def _effects(table: rules.RuleTable, primitive: Primitive, returned: Any, operands: int) -> Effects:
    """The effects that a rule returned."""
    if isinstance(returned, str) or not isinstance(returned, Iterable):
        raise rule_error(table, primitive, f"must return a set of effects, got {shorten(returned)}")
    effects = frozenset(returned)
    for effect in effects:
        if not isinstance(effect, Effect):
            raise rule_error(
                table, primitive, f"must return effects that are instances of Effect, got {shorten(effect)}"
            )
        if isinstance(effect, OperandEffect) and not 0 <= effect.operand < operands:
            must = f"must return effects on operands from 0 to {operands - 1}, got {shorten(effect)}"
            raise rule_error(table, primitive, must)
        try:
            kind_of(effect)
        except TypeError as error:
            raise rule_error(
                table, primitive, f"returned an effect of a class that is not registered; {error}"
            ) from None
    return effects
