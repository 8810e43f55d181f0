"""Lowering: from jaxprs to StableHLO modules, by per-platform rules."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from primax.core import _jaxlib, rules, undo_log
from primax.core.diagnostics import add_rule_note, encodable, of_call, rule_error, shorten
from primax.core.effects import ordered_effects
from primax.core.errors import CallbackError, RuleError
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, subjaxprs
from primax.core.recursion import raised_recursion_limit
from primax.core.source_info import ScopedSource, attributes_of, is_internal, summarize, use
from primax.interpreters.passes import rewritten
from primax.interpreters.rule_checks import type_rule_of
from primax.interpreters.runtime.callback_errors import Failures
from primax.interpreters.runtime.devices.backends import names_of
from primax.interpreters.runtime.ir_types import aval_to_ir_type, cached_ir_type, ir_constant
from primax.interpreters.runtime.mlir_context import SharedContext
from primax.interpreters.runtime.tokens import TokenSet, no_tokens

_functions = rules.lowering_rules.functions


def register_lowering(
    primitive: Any, rule: Callable[..., Any], platform: str | None = None, inline: bool = True, cacheable: bool = True
) -> Callable[..., Any]:
    """Register a lowering rule.

    Args:
      primitive: the primitive.
      rule: `(ctx, *ir_values, **params) -> ir values`.
      platform: the only platform of the rule, which need not be present; None for the default rule.
      inline: accepted as in jax, where equations may share the operations of a rule, and not used: each equation has
        its own operations, with the same results.
      cacheable: as `inline`.

    Raises:
      PluginError: there is a rule of another plugin.
    """
    rules.lowering_rules[primitive if platform is None else (primitive, platform)] = rule
    return rule


class ModuleContext:
    """One StableHLO module being built.

    Attributes:
      module: the MLIR module.
      platform: its platform.
      host_callbacks: Python functions that the program calls; rules append to them, and the executable keeps them
        alive.
      failures: the record of their errors in a program over several devices, or of the foreign functions.
      keepalives: other objects that must live as long as the executable.
      calls_foreign: whether the program calls foreign functions, which may fail; rules set it.
      options: options of XLA that rules set for the whole program, by name.
      before_compile: functions of the devices that are called before XLA compiles the module; rules add them.
      spmd: the devices of the program, a `Spmd`; None for one device.
      dynamic: whether types of arguments have sizes that are not integers.
      source: the place of the equation that is being lowered.
      path: the prefix of the names of operations in profiles and dumps, such as `jit(f)/while/body/`.
    """

    def __init__(self, shared: SharedContext, module: Any, platform: str, root: Jaxpr) -> None:
        if not isinstance(module, _jaxlib.ir.Module):
            raise TypeError(f"ModuleContext: module must be an MLIR module, got {module!r}")
        self.shared = shared
        self.root = root
        self.depth = 0
        self.module = module
        self.platform = platform
        self.symbols = _jaxlib.ir.SymbolTable(module.operation)
        self.body = _jaxlib.ir.InsertionPoint(module.body)
        self.top = _jaxlib.ir.InsertionPoint.at_block_begin(module.body)
        self.channels = 0
        self.spmd: Any = None
        self.host_callbacks: list[Any] = []
        self.failures: Failures | None = None
        self.keepalives: list[Any] = []
        self.calls_foreign = False
        self.options: dict[str, Any] = {}
        self.before_compile: set[Callable[[Sequence[Any]], None]] = set()
        self.functions: dict[Any, Any] = {}
        self.rules: dict[Any, tuple[Any, Callable[..., Any]]] = {}
        self.checked = False
        self.dynamic = False
        self.source: Any = None
        self.path = ""
        self._uses: dict[Jaxpr, int] | None = None

    def uses(self, jaxpr: Jaxpr) -> int:
        """The number of equations of the whole program that hold this inner program."""
        if self._uses is None:
            counts: dict[Jaxpr, int] = {}
            pending = [self.root]
            while pending:
                for held in subjaxprs(pending.pop()):
                    counts[held] = counts.get(held, 0) + 1
                    if counts[held] == 1:
                        pending.append(held)
            self._uses = counts
        return self._uses.get(jaxpr, 0)

    def new_channel(self) -> int:
        """A new channel number for communication between devices."""
        self.channels += 1
        return self.channels

    @property
    def platforms(self) -> tuple[str, ...]:
        return (self.platform,)

    @property
    def context(self) -> Any:
        return self.shared.context

    def add_keepalive(self, keepalive: Any) -> None:
        """Keep an object as long as the executable."""
        self.keepalives.append(keepalive)

    def add_host_callback(self, function: Callable[..., Any], instead: Callable[[], Any] | None = None) -> int:
        """Keep a Python function with the program and return its index for the custom call.

        Args:
          function: the function.
          instead: makes its results if it fails in a program over several devices, which wait for each other.
        """
        located = _located(function, self.source)
        if instead is not None and self.spmd is not None and self.spmd.partitions > 1:
            self.failures = self.failures or Failures()
            located = self.failures.guarded(located, instead)
        self.host_callbacks.append(located)
        return len(self.host_callbacks) - 1


def _located(function: Callable[..., Any], source: Any) -> Callable[..., Any]:
    """A function whose errors name their origin in the text, because XLA keeps only the text of an error."""

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:
            traceback = import_module("traceback")
            text = f"{type(error).__name__}: {error}\nThe callback was made at {summarize(source)}."
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_internal(frame.filename)]
            if frames:
                text += f"\nIt failed at:\n{''.join(traceback.format_list(frames))}"
            raise CallbackError(text) from error

    return call


class LoweringRuleContext:
    """The context of a lowering rule: information about the equation that it lowers.

    Attributes:
      module_context: the module being built.
      primitive: the primitive that is lowered.
      avals_in: types of the operands.
      avals_out: types of the results.
      tokens_in: the current token of each ordered effect of the equation.
    """

    __slots__ = ("avals_in", "avals_out", "module_context", "primitive", "source_info", "tokens_in", "tokens_out")

    def __init__(
        self,
        module_context: ModuleContext,
        primitive: Any,
        avals_in: Sequence[Any],
        avals_out: Sequence[Any],
        tokens_in: TokenSet = no_tokens,
        source_info: Any = None,
    ) -> None:
        self.module_context = module_context
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = avals_out
        self.tokens_in = tokens_in
        self.tokens_out: dict[Any, Any] | None = None
        self.source_info = source_info

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """A copy with `primitive`, `avals_in`, `avals_out` or `tokens_in` replaced."""
        fields = {
            name: getattr(self, name)
            for name in ("module_context", "primitive", "avals_in", "avals_out", "tokens_in", "source_info")
        }
        return LoweringRuleContext(**{**fields, **changes})

    def set_tokens_out(self, tokens: dict[Any, Any]) -> None:
        """Set the tokens for later equations with the same ordered effects."""
        self.tokens_out = tokens


def lower_eqn(ctx: LoweringRuleContext, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The IR values of one application of a primitive, by its rule."""
    module = ctx.module_context
    key, rule = module.rules.get(ctx.primitive) or rule_of(ctx)
    try:
        out = rule(ctx, *args, **params)
    except Exception as error:
        if isinstance(error, TypeError | OverflowError):
            _refuse_wide(ctx.primitive, params)
        add_rule_note(error, rules.lowering_rules, key, ctx.source_info)
        raise
    value = _jaxlib.ir.Value
    if isinstance(out, value):
        outs = [out]
    else:
        try:
            outs = list(out)
        except TypeError:
            outs = [None]
        for x in outs:
            if not isinstance(x, value):
                outs = _flattened(ctx, key, out)
                break
    if len(outs) != len(ctx.avals_out):
        raise _wrong(ctx, key, f"must return {len(ctx.avals_out)} IR values, got {len(outs)}")
    if module.checked:
        for x, aval in zip(outs, ctx.avals_out, strict=True):
            if x.type != aval_to_ir_type(aval):
                of = f"of type {aval.str_short()} by {type_rule_of(ctx.primitive)}"
                raise _wrong(ctx, key, f"returned {x.type} for a result {of}")
    return outs


def _flattened(ctx: LoweringRuleContext, key: Any, out: Any) -> list[Any]:
    """The IR values that a rule returned as a sequence of values and of sequences of values."""
    value = _jaxlib.ir.Value
    outs: list[Any] = []
    try:
        for x in out:
            outs += [x] if isinstance(x, value) else x
    except TypeError:
        outs = [None]
    if not all(isinstance(x, value) for x in outs):
        raise _wrong(ctx, key, f"must return IR values, got {shorten(out)}")
    return outs


def _refuse_wide(primitive: Any, params: dict[str, Any]) -> None:
    """Raise an error for a parameter with an int that does not fit into 64 bits, since no rule can pass it to XLA."""
    for name, value in params.items():
        parts = [value]
        for x in parts:  # parts grows in the loop
            if isinstance(x, tuple | list):
                parts += x
            elif isinstance(x, int) and not -(2**63) <= x < 2**63:
                raise OverflowError(f"{primitive}: {name} must fit 64 bits, got {value!r}{of_call()}") from None


def rule_of(ctx: LoweringRuleContext) -> tuple[Any, Callable[..., Any]]:
    """`find_lowering`, with a cache for each module, and without loading plugins if there is a rule."""
    primitive, module = ctx.primitive, ctx.module_context
    rule = module.rules.get(primitive)
    if rule is None:
        keys = (
            ((primitive, module.platform), primitive) if module.platform == "cpu" else ((primitive, module.platform),)
        )
        known = next((key for key in keys if key in _functions), None)
        rule = module.rules[primitive] = find_lowering(ctx) if known is None else (known, _functions[known])
    return rule


def _wrong(ctx: LoweringRuleContext, key: Any, text: str) -> RuleError:
    return rule_error(rules.lowering_rules, key, text, ctx.source_info)


def find_lowering(ctx: LoweringRuleContext) -> tuple[Any, Callable[..., Any]]:
    """The lowering rule of a primitive for the platform of the module, and its key in the table.

    Raises:
      MissingRuleError: there is no rule for this platform.
    """
    primitive, platform = ctx.primitive, ctx.module_context.platform
    rules.loader.complete(primitive)
    for key in (*((primitive, name) for name in names_of(platform)), primitive):
        if key in _functions:
            return key, _functions[key]
    others = sorted(key[1] for key in _functions if isinstance(key, tuple) and key[0] is primitive)
    hint = f"There are lowerings for {others}, but the program is built for {platform!r}." if others else ""
    asked = f"compilation for {platform}"
    error = rules.missing_error(rules.lowering_rules, primitive)
    raise error(rules.explain_missing(rules.lowering_rules, primitive, asked, hint, ctx.source_info))


def ir_constants_of(closed: ClosedJaxpr) -> list[Any]:
    """The IR values of a program's constants, with their types in the program."""
    return [ir_constant(x, v.aval) for v, x in zip(closed.jaxpr.constvars, closed.consts, strict=True)]


def jaxpr_subcomp(
    module: ModuleContext, jaxpr: Jaxpr, tokens: dict[Any, Any], consts: Sequence[Any], args: Sequence[Any]
) -> tuple[list[Any], dict[Any, Any]]:
    """Build the IR of a jaxpr at the current insertion point.

    Args:
      module: the module being built.
      jaxpr: the program.
      tokens: the current token of each ordered effect.
      consts: IR values of its constvars.
      args: IR values of its invars.

    Returns:
      IR values of its outputs, and the tokens after it.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    lower = _lower_in_layers(module, jaxpr)
    path = module.path
    locations: dict[Any, Any] = {}  # equations of one line, in a loop for example, share theirs
    for eqn in jaxpr.eqns:
        primitive, invars, outvars, params = eqn.primitive, eqn.invars, eqn.outvars, eqn.params
        source = module.source = eqn.source_info
        if type(source) is ScopedSource:
            scope, traceback = source.scope, source.traceback
            module.path = f"{path}{encodable(scope)}/" if scope else path
        else:
            scope, traceback = "", source
            module.path = path
        label = params.get("name") if params else None
        if type(label) is not str:  # another parameter of that name
            label = None
        place = primitive, traceback, scope, label
        location = locations.get(place)
        if location is None:
            location = locations[place] = _location(module, primitive.name, label, traceback)
        with location:
            values = [ir_constant(v.val, v.aval) if type(v) is Literal else env[v] for v in invars]
            ctx = LoweringRuleContext(
                module, primitive, [v.aval for v in invars], [v.aval for v in outvars], no_tokens, source
            )
            ordered = ordered_effects(eqn.effects) if eqn.effects else ()
            if ordered:
                ctx.tokens_in = TokenSet({effect: tokens[effect] for effect in ordered})
            outs = lower(ctx, values, params)
            if ordered:
                if ctx.tokens_out is None:
                    raise _wrong(ctx, primitive, "has ordered effects and must call ctx.set_tokens_out")
                tokens = {**tokens, **ctx.tokens_out}
        if len(outvars) == 1 == len(outs):
            env[outvars[0]] = outs[0]
        else:
            env.update(zip(outvars, outs, strict=True))
    module.path = path
    results = [ir_constant(v.val, v.aval) if type(v) is Literal else env[v] for v in jaxpr.outvars]
    return results, tokens


def _location(module: ModuleContext, name: str, label: str | None, traceback: Any) -> Any:
    """The MLIR location of an equation: its name within the program, and its lines in the user's program."""
    if label is not None:
        name = f"{name}({label})"
    lines = module.shared.unknown if traceback is None else module.shared.locations.get(traceback)
    return _jaxlib.ir.Location.name(module.path + (name if name.isascii() else encodable(name)), lines)


Lower = Callable[[LoweringRuleContext, Sequence[Any], dict[str, Any]], list[Any]]


class _Layer(NamedTuple):
    order: int
    applies: Callable[[ModuleContext, Jaxpr, Collection[Any]], bool]
    lower: Callable[[LoweringRuleContext, Sequence[Any], dict[str, Any], Lower], list[Any]]
    primitives: frozenset[str]


_layers: list[_Layer] = []


def register_lowering_layer(
    applies: Callable[[ModuleContext, Jaxpr, Collection[Any]], bool],
    layer: Callable[[LoweringRuleContext, Sequence[Any], dict[str, Any], Lower], list[Any]],
    order: int,
    primitives: Collection[str] = (),
) -> None:
    """Register a step around the lowering rules; programs that are compiled already keep their code.

    Args:
      applies: `(module, jaxpr, types) -> bool`, whether the layer may change the lowering of an equation of a program;
        `types` has the types of the program's values. It is called once for each program, and layers that do not apply
        cost its equations nothing.
      layer: `(ctx, values, params, lower) -> IR values` of the results of an equation. `lower(ctx, values, params)` is
        the next layer, or at last the rule.
      order: layers with smaller numbers are called first, and call those with larger ones. The layers of primax are
        those of the shardings in types (10), attributes for XLA (20), extended dtypes (30), unreduced values (40) and
        sharding rules (50).
      primitives: names of primitives, if `applies` need not be called for programs with none of them.
    """
    entry = _Layer(order, applies, layer, frozenset(primitives))
    bisect.insort(_layers, entry, key=lambda layer: layer.order)
    undo_log.note(lambda: _layers.remove(entry))


def _lower_in_layers(module: ModuleContext, jaxpr: Jaxpr) -> Lower:
    """The function that lowers the equations of a program: `lower_eqn` inside of the layers that apply."""
    types = {v.aval for v in (*jaxpr.constvars, *jaxpr.invars)}
    types.update([v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
    names = {eqn.primitive.name for eqn in jaxpr.eqns}
    lower: Lower = lower_eqn
    for layer in reversed(_layers):
        if not (layer.primitives and layer.primitives.isdisjoint(names)) and layer.applies(module, jaxpr, types):
            lower = functools.partial(layer.lower, lower=lower)
    return lower


def _has_attributes(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return use.begun and any(attributes_of(eqn.source_info) for eqn in jaxpr.eqns)


def _with_attributes(
    ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower
) -> list[Any]:
    """Add the attributes for XLA of an equation's source to the operations that define its results."""
    outs = lower(ctx, values, params)
    ir = _jaxlib.ir
    names = {key: ir.StringAttr.get(text) for key, text in attributes_of(ctx.source_info)}
    name = "mhlo.frontend_attributes"
    for value in outs if names else ():
        operation = value.owner
        if not isinstance(operation, ir.Block):  # an argument of a function has no operation
            attributes = operation.attributes
            before = {attribute.name: attribute.attr for attribute in attributes[name]} if name in attributes else {}
            attributes[name] = ir.DictAttr.get({**names, **before})
    return outs


register_lowering_layer(_has_attributes, _with_attributes, order=20)


def lower_jaxpr_to_fun(module: ModuleContext, name: str, closed: ClosedJaxpr) -> Any:
    """A private function of the module that computes a closed jaxpr; one for each jaxpr object.

    It takes and returns a token for each of the jaxpr's ordered effects, before its other arguments.
    """
    function = module.functions.get(closed)
    if function is not None:
        return function
    ir = _jaxlib.ir
    ordered = ordered_effects(closed.effects)
    token_types = [_jaxlib.hlo_ext.TokenType.get()] * len(ordered)
    shared = module.shared
    in_types = [*token_types, *(cached_ir_type(shared, aval) for aval in closed.in_avals)]
    out_types = [*token_types, *(cached_ir_type(shared, aval) for aval in closed.out_avals)]
    function = _jaxlib.func.FuncOp(encodable(name), (in_types, out_types), visibility="private", ip=module.body)
    module.symbols.insert(function)
    module.depth += 1
    path, module.path = module.path, ""  # XLA puts the name of the call before it
    with raised_recursion_limit(), ir.InsertionPoint(function.add_entry_block()):
        arguments = list(function.arguments)
        tokens = dict(zip(ordered, arguments, strict=False))
        consts = ir_constants_of(closed)
        outs, tokens = jaxpr_subcomp(module, closed.jaxpr, tokens, consts, arguments[len(ordered) :])
        _jaxlib.func.return_([*(tokens[effect] for effect in ordered), *outs])
    module.depth -= 1
    module.path = path
    module.functions[closed] = function
    return function


# XLA overflows its stack on call graphs that are about 180 functions deep; deeper ones are inlined.
_MOST_NESTED_CALLS = 64


def call_jaxpr(ctx: LoweringRuleContext, name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Call a closed jaxpr as a function of the module, for rules of primitives with inner programs."""
    module = ctx.module_context
    if module.dynamic:  # the sizes are values of the function that needs them
        with raised_recursion_limit():
            return inline_jaxpr(ctx, closed, args)
    if module.depth >= _MOST_NESTED_CALLS and closed not in module.functions and module.uses(closed.jaxpr) <= 1:
        with raised_recursion_limit():
            return inline_jaxpr(ctx, closed, args)
    closed = rewritten(closed)
    ordered = ordered_effects(closed.effects)
    function = lower_jaxpr_to_fun(module, name, closed)
    before = ctx.tokens_in
    call = _jaxlib.func.CallOp(function, [*(before[effect] for effect in ordered), *args])
    results = list(call.results)
    if ordered:
        ctx.set_tokens_out(dict(zip(ordered, results, strict=False)))
    return results[len(ordered) :]


def inline_jaxpr(ctx: LoweringRuleContext, closed: ClosedJaxpr, args: Sequence[Any], part: str = "") -> list[Any]:
    """Build the IR of a closed jaxpr inline.

    Args:
      ctx: the context of the rule.
      closed: the program.
      args: IR values of its inputs.
      part: the part of the equation, such as `while/body`, for the names of its operations in profiles.
    """
    closed = rewritten(closed)
    consts = ir_constants_of(closed)
    module = ctx.module_context
    path = module.path
    if part:
        module.path = f"{path}{part}/"
    outs, tokens = jaxpr_subcomp(module, closed.jaxpr, ctx.tokens_in, consts, args)
    module.path = path
    if ctx.tokens_in:
        ctx.set_tokens_out({effect: tokens[effect] for effect in ctx.tokens_in})
    return outs
