"""Definition of a primitive with its rules, samples and documentation in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primax.core.cache import epoch
from primax.core.caller import author
from primax.core.derivation import Derivation
from primax.core.effects import Effect
from primax.core.errors import PluginWarning
from primax.core.primitive import require_declaration
from primax.core.rules import load_plugins, rule_tables
from primax.extend.core import Primitive
from primax.extend.core.samples import SampleSource
from primax.extend.declarations import check_signatures, with_declared, with_effects
from primax.extend.given_rules import require_samples, rules_to_enter
from primax.extend.host.contributions import sample_sources
from primax.extend.host.plugin_host import host
from primax.extend.host.registry import Registry, not_entered
from primax.extend.provisional.awaited_rules import awaited_rules
from primax.extend.provisional.core_dimensions import parse_core_signature
from primax.extend.rule_types import BatchRule, ImplRule, JVPRule, LoweringRule, TransposeRule, TypeRule

__all__ = ["Definitions", "define_primitive"]

Rule = Callable[..., Any]


class Definitions:
    """The primitives of a module, kept for the plugin host to enter.

    A plugin defines its primitives at the top of a module, and enters them when the host calls its hook:

    >>> from primax.extend import Definitions, define_primitive, derive, hookimpl
    >>> definitions = Definitions()
    >>> thrice_p = define_primitive(
    ...     "thrice", impl=lambda x: x + x + x, lowering=derive.from_impl, registry=definitions
    ... )
    >>> @hookimpl
    ... def primax_register(registry):
    ...     definitions.enter(registry)
    """

    def __init__(self) -> None:
        self._all: list[tuple[Primitive, dict[str, Any]]] = []

    def __repr__(self) -> str:
        return f"<Definitions: {', '.join(str(primitive) for primitive, *_ in self._all) or 'none'}>"

    def enter(self, registry: Registry) -> None:
        """Enter all definitions through the registry that `primax_register` gets.

        Raises:
          TypeError: `registry` is not a registry.
          PluginError: a primitive's name belongs to another primitive.
        """
        if not isinstance(registry, Registry):
            raise TypeError(f"Definitions.enter: registry must be what primax_register is given, got {registry!r}")
        for primitive, arguments in self._all:
            registry.define(primitive, **arguments)

    def _add(self, primitive: Primitive, arguments: dict[str, Any]) -> None:
        self._all.append((primitive, arguments))
        not_entered.add(primitive)


def define_primitive(
    name: str,
    *,
    multiple_results: bool = False,
    impl: ImplRule | Derivation | None = None,
    abstract_eval: TypeRule | Derivation | None = None,
    jvp: JVPRule | Derivation | None = None,
    transpose: TransposeRule | Derivation | None = None,
    batch: BatchRule | Derivation | None = None,
    lowering: LoweringRule | Derivation | Mapping[str | None, LoweringRule | Derivation | None] | None = None,
    linear: Sequence[int] = (),
    nondiff: Sequence[int] = (),
    vjp: tuple[Rule, Rule] | None = None,
    elementwise: bool = False,
    out_like: int | None = None,
    signature: str | None = None,
    leading: str = "broadcast",
    effects: Sequence[Effect] = (),
    mutates: Sequence[int] = (),
    parameters: Mapping[str, Any] | None = None,
    sharding: str | Rule | None = None,
    unsupported: Mapping[str, str] | None = None,
    samples: Sequence[SampleSource] = (),
    doc: str | None = None,
    experimental: bool = False,
    with_plugins: Mapping[str, Mapping[str, Any]] | None = None,
    registry: Registry | Definitions | None = None,
    **further: Any,
) -> Primitive:
    """A new primitive with its rules, samples and documentation. If anything is wrong, nothing is entered.

    Each rule is a function, a derivation from others (see `primax.extend.derive`), or None.

    Args:
      name: the name of the primitive in programs and messages.
      multiple_results: whether its rules return lists.
      impl: `(*args, **params) -> array`; it gets the caller's arguments.
      abstract_eval: `(*avals, **params) -> aval`.
      jvp: `(primals, tangents, **params) -> (primal_out, tangent_out)`.
      transpose: `(cotangent, *args, **params) -> one cotangent or None per argument`.
      batch: `(args, dims, **params) -> (out, dim)`.
      lowering: `(ctx, *ir_values, **params) -> ir values`; or a mapping from platforms, such as `"cuda"`, to such
        rules, with None for all others. Platforms need not be present.
      linear: positions of arguments; it is linear in each of them while the others are fixed. A missing `jvp` rule is
        derived from this, and a missing `transpose` rule from the `impl` or from a `jvp` written by hand.
      nondiff: positions of arguments without a derivative; differentiating with respect to them raises an error.
      vjp: for reverse mode only, a pair of functions: `fwd(*args, **params) -> (out, residuals)`, and `bwd(residuals,
        cotangent, **params) -> one cotangent or None per argument`. Forward mode raises an error.
      elementwise: whether each element of the result depends only on the elements at its position in arguments of one
        shape, or scalars. The batch rule and the type rule are derived from this.
      out_like: the position of an argument with the shape and dtype of the result; the type rule is derived from this.
      signature: its core dimensions as text, as of NumPy's generalized ufuncs: with `"(m,n),(n)->(m)"` it acts on the
        last two axes of argument 0 and the last axis of argument 1, in the same way for each position along the leading
        axes. A number is a fixed size. The batch, type and sharding rules are derived from this. Without an
        `abstract_eval` rule results have the dtype to which arguments promote; the rule may return only dtypes, and
        types that it returns must fit the signature.
      leading: with `signature`, the leading axes that rules must take: with `"broadcast"`, those of all arguments
        broadcast as in NumPy; with `"equal"`, all arguments have the same, and `vmap` repeats unmapped ones.
      effects: its effects besides its results, such as `Reads(1)`, an `OperandEffect` on operand 1. Its equations stay
        in programs, in order, even if their results are not used.
      mutates: positions of arguments that it writes to; they must have mutable types, unlike arrays. Each is an effect
        `Mutates(i)`.
      parameters: its parameters, each with a type such as `int`, or a function that returns True for valid values.
        Unknown, missing and invalid parameters raise an error.
      sharding: its division among devices: a text such as `"i k:sum, k j -> i j"`, which names the dimensions of
        operands and results, or a function of types and parameters that returns one.
      unsupported: for kinds of rules that cannot exist, the reason, which error messages show.
      samples: arguments and parameters for the conformance kit: `Sample`s, or functions that return some.
      doc: the documentation; becomes its `__doc__`.
      experimental: whether you accept that rules of experimental kinds may change in any release.
      with_plugins: rules of kinds that other plugins make, which need not be installed: a mapping from names of plugins
        to rules by kind, as `{"intervals": {"interval": rule}}`. They are entered when the plugin is active.
      registry: the object that enters the primitive: in `primax_register`, the registry; at the top of a plugin's
        module, its `Definitions`. With None it is entered at once, and belongs to no plugin; this is for scripts and
        notebooks. At the top level of a script, a later definition with the same name replaces this one, also in
        compiled functions.
      further: rules of further kinds, by the keys of `rule_tables`.

    Returns:
      The primitive.

    Raises:
      TypeError: an argument is not as above; the message names it.
      PluginError: the name belongs to another primitive of the registry.

    Warns:
      PluginWarning: the name belongs to a primitive of an active plugin, and `registry` is None.

    >>> from primax.extend import define_primitive, derive
    >>> hypot_p = define_primitive(
    ...     "hypot",
    ...     impl=lambda x, y: (x * x + y * y) ** 0.5,
    ...     abstract_eval=derive.from_impl,
    ...     lowering=derive.from_impl,
    ... )
    >>> import primax as px
    >>> float(px.jit(hypot_p.bind)(3.0, 4.0))
    5.0
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"define_primitive: name must be a non-empty string, got {name!r}")
    if "::" in name or name != "".join(name.split()):
        raise TypeError(
            f"define_primitive: name must have no blanks and no '::', since programs print it, got {name!r}"
        )
    where = f"define_primitive({name})"
    if doc is not None and not isinstance(doc, str):
        raise TypeError(f"{where}: doc must be text, got {doc!r}")
    if not (registry is None or isinstance(registry, Registry | Definitions)):
        raise TypeError(f"{where}: registry must be a Registry, Definitions or None, got {registry!r}")
    if isinstance(samples, str) or not isinstance(samples, Sequence):
        raise TypeError(f"{where}: samples must be a list or a tuple, got {samples!r}")
    require_declaration(where, parameters)
    samples = tuple(samples)
    require_samples(where, samples)
    unsupported = dict(unsupported or {})
    who = author()
    before = _of_scripts.get((who.module, name)) if registry is None and who.top else None
    primitive = before or Primitive(name, multiple_results=multiple_results)
    primitive.module = who.module
    rules: dict[str, Any] = {
        "impl": impl,
        "abstract_eval": abstract_eval,
        "jvp": jvp,
        "transpose": transpose,
        "batch": batch,
        "lowering": lowering,
        "sharding": sharding,
        **further,
    }
    declared = with_declared(
        where,
        rules,
        linear=linear,
        nondiff=nondiff,
        vjp=vjp,
        elementwise=elementwise,
        out_like=out_like,
        signature=signature,
        leading=leading,
        multiple_results=multiple_results,
        unsupported=unsupported,
    )
    by_hand = {kind: rule for kind, rule in rules.items() if rule is not None}
    rules = with_effects(where, declared, effects, mutates)
    entries = rules_to_enter(where, primitive, rules, unsupported)
    awaited = awaited_rules(where, primitive, with_plugins)
    check_signatures(where, {**declared, **by_hand})
    if before is not None:
        _clear(before)
        before.multiple_results = multiple_results
    if signature is not None:
        vars(primitive)["_core_signature"] = parse_core_signature(where, signature, leading)
    primitive.declare_parameters(parameters)
    if doc is not None:
        primitive.__doc__ = doc
    if registry is None:
        if who.top:
            _of_scripts[who.module, name] = primitive
        if before is None:
            _tell_of_namesake(name, who.level)
        _enter(primitive, entries, unsupported, samples, experimental)
        host.await_rules(primitive, awaited)
    else:
        arguments = {
            "unsupported": unsupported,
            "samples": samples,
            "experimental": experimental,
            "with_plugins": with_plugins,
            **_by_kind(entries),
        }
        if isinstance(registry, Definitions):
            registry._add(primitive, arguments)
        else:
            registry.define(primitive, **arguments)
    return primitive


# Primitives that modules have defined at the top level. A cell of a notebook that runs again redefines the same one.
_of_scripts: dict[tuple[str, str], Primitive] = {}


def _clear(primitive: Primitive) -> None:
    """Remove all entries of a primitive before its new definition."""
    for table in rule_tables.values():
        for key in [key for key in table.functions if (key[0] if isinstance(key, tuple) else key) is primitive]:
            table.remove(key, override=True)
        table.unsupported.pop(primitive, None)
    sample_sources.pop(primitive, None)
    vars(primitive).clear()
    epoch.bump()


def _tell_of_namesake(name: str, level: int) -> None:
    """Warn the caller if a plugin has a primitive of this name: programs and messages cannot distinguish the two."""
    load_plugins()
    there = host.primitives.get(name)
    if there is not None:
        warnings.warn(
            f"define_primitive: name should be new, got {name!r} of plugin {there.plugin!r}; programs and messages "
            "could not distinguish the two primitives",
            PluginWarning,
            stacklevel=level + 1,
        )


def _by_kind(entries: Mapping[tuple[str, Any], Rule]) -> dict[str, Any]:
    """Rules in the form of `registry.define`: lowerings for platforms are in one mapping."""
    rules: dict[str, Any] = {}
    for (kind, key), rule in entries.items():
        if kind == "lowering":
            rules.setdefault(kind, {})[key[1] if isinstance(key, tuple) else None] = rule
        else:
            rules[kind] = rule
    return rules


def _enter(
    primitive: Primitive,
    entries: Mapping[tuple[str, Any], Rule],
    unsupported: Mapping[str, str],
    samples: tuple[SampleSource, ...],
    experimental: bool,
) -> None:
    """Enter a new primitive without a plugin; this cannot fail."""
    for (kind, key), rule in entries.items():
        rule_tables[kind].register(key, rule, experimental=experimental)
    for kind, reason in unsupported.items():
        rule_tables[kind].unsupported[primitive] = reason
    if samples:
        sample_sources[primitive] = list(samples)
