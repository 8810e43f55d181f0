"""JAX's spellings of methods that primax has under other names or does not need, for packages written for JAX."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from primax.core import rules
from primax.core.avals import AbstractValue, ShapedArray
from primax.core.trace import Trace
from primax.extend import backend
from primax.extend.core import ClosedJaxpr, Jaxpr, Primitive
from primax.interpreters.runtime.lowering import LoweringRuleContext, ModuleContext
from primax.porting.private.lowering_parameters import LoweringParameters

# Further parameters of JAX's primitives, for which None is allowed, because packages pass them between rules.
_NEUTRAL = {"accuracy", "out_dtype", "out_sharding", "sharding"}
_bind = Primitive.bind


class _Trace:
    """The methods of JAX's traces that packages and their own traces call."""

    alive: bool
    main = property(lambda self: self, doc="The trace itself, for packages that compare transformations.")

    def full_raise(self, x: Any) -> Any:
        """The value itself: any value is an operand of any trace."""
        return x

    def is_valid(self) -> bool:
        """Whether the transformation is active."""
        return self.alive

    def invalidate(self: Any) -> None:
        """End the transformation."""
        self.end()

    def requires_low(self) -> bool:
        """Whether programs of values of users' types must be lowered; such values do not exist here."""
        return False


class _ShapedArray:
    """The methods that types of `jax.experimental.hijax` call on the types of their parts, for arrays."""

    def lo_ty(self) -> list[Any]:
        """The types of the arrays in a value."""
        return [self]

    def lower_val(self, hi_val: Any) -> list[Any]:
        """The arrays in a value."""
        return [hi_val]

    def raise_val(self, lo_val: Any) -> Any:
        """The value with these arrays."""
        return lo_val


class _AbstractValue:
    """An older name of a method."""

    def at_least_vspace(self: Any) -> Any:
        """The type of tangents of values of this type."""
        return self.to_tangent_aval()


class _Primitive:
    """The methods of JAX's primitives that packages call, and parameters that only JAX's primitive has."""

    call_primitive = map_primitive = False  # primax finds inner programs among the parameters

    def get_bind_params(self: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters, with closed programs in place of open ones without constants.

        In recent JAX the two are one class, and interpreters pass either.
        """
        return {name: _closed(value) for name, value in params.items()}

    def bind(self: Any, *args: Any, **params: Any) -> Any:
        """Apply the primitive; parameters that only JAX's primitive of this name has may be None."""
        try:
            return _bind(self, *args, **params)
        except TypeError:
            fewer = _without_neutral(self, params)
            if fewer is None:
                raise
        return _bind(self, *args, **fewer)


def _closed(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_closed, value))
    return ClosedJaxpr(value) if type(value) is Jaxpr and not value.constvars else value


class _ModuleContext:
    """The attributes that lowering rules read from the context of a module."""

    backend = property(lambda self: self.get_backend(), doc="The client of the platform.")
    ip = property(lambda self: self.body, doc="The place of the next function of the module.")
    symbol_table = property(lambda self: self.symbols, doc="The functions of the module by name.")
    lowering_parameters = LoweringParameters()

    def get_backend(self: Any) -> Any:
        """The client of the platform."""
        return backend.get_backend(self.platform)


class _LoweringRuleContext:
    """The attributes that lowering rules read from the context of an equation."""

    axis_size_env = jaxpr_eqn_ctx = None
    dim_var_values = ()
    platforms = property(lambda self: self.module_context.platforms, doc="The platforms of the module.")
    traceback = property(lambda self: self.source_info, doc="The place of the equation.")

    def is_forward_compat(self) -> bool:
        """Whether older consumers must be able to read the module: always true."""
        return True


def attach() -> None:
    """Give the classes of primax these methods."""
    for source, target in _SPELLINGS:
        for name, member in vars(source).items():
            if not name.startswith("__"):
                setattr(target, name, member)


_SPELLINGS = (
    (_Trace, Trace),
    (_AbstractValue, AbstractValue),
    (_ShapedArray, ShapedArray),
    (_Primitive, Primitive),
    (_ModuleContext, ModuleContext),
    (_LoweringRuleContext, LoweringRuleContext),
)


def _without_neutral(primitive: Any, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters without those that are None and only JAX's primitive has; None if there are none to leave out."""
    neutral = {name for name in _NEUTRAL if name in params and params[name] is None}
    if not neutral:
        return None
    tables = (rules.abstract_eval_rules, rules.effectful_abstract_eval_rules)
    written = [rules.written(rule) for table in tables if (rule := table.functions.get(primitive)) is not None]
    known = {name for rule in written for name in inspect.signature(rule).parameters}
    return {name: value for name, value in params.items() if name not in neutral - known} if neutral - known else None
