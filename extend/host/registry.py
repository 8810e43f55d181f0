"""The registry that a plugin gets: it enters rules and other objects, and records how to undo the entries."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from primax.core import rules, undo_log
from primax.core.arguments import nearest
from primax.core.array_protocol import ArrayProtocol, install_protocol
from primax.core.avals import AbstractValue, register_aval
from primax.core.cache import epoch
from primax.core.caller import author, is_surface
from primax.core.derivation import DerivedRule, function_of
from primax.core.diagnostics import name_of_key
from primax.core.effects import Effect, register_effect
from primax.core.errors import PluginError
from primax.core.experimental import experimental as note_experimental
from primax.core.lazy_tables import LazyEntries, Table, lazy_entries
from primax.core.operand import install_operators, operator_names
from primax.core.primitive import Primitive
from primax.core.rules import Provenance, RuleTable, rule_tables
from primax.core.trusted_modules import belongs, built_in
from primax.extend.host.contributions import contributions, declared_differences, sample_sources
from primax.extend.host.override_policy import Consents
from primax.extend.provisional.awaited_rules import Awaited, awaited_rules
from primax.extend.provisional.sharding_rule import implied_rule

if TYPE_CHECKING:
    from primax.extend.core.samples import SampleSource

__all__ = ["Entry", "Holding", "RefusedError", "Registry", "not_entered"]

_REQUIRED = tuple(name for name in ArrayProtocol._fields if name not in ArrayProtocol._field_defaults)


# Primitives that a module has defined for its plugin, and that the plugin has not entered yet.
not_entered: weakref.WeakSet[Primitive] = weakref.WeakSet()


class RefusedError(PluginError):
    """The host refuses a plugin, or an entry of it."""


class Entry(NamedTuple):
    """One entry of a plugin.

    Attributes:
      what: `"primitive"`, `"rule"`, `"awaited"`, `"unsupported"`, `"samples"`, `"operator"`, `"protocol"`, `"effect"`,
        `"aval"`, or the argument `what` of `Registry.enter`.
      name: its name, such as the primitive's name.
      kind: the kind of rule; empty for other things.
      provenance: the origin of a rule, an operator or a similar entry; None for other entries.
      home: the module of the class that is the key, or of the `Table` that has the entry; empty for other entries.
      outranked: whether it has no effect, because another plugin, to which the user gives priority, replaces the same
        entry; `provenance` is then the other plugin's.
    """

    what: str
    name: str
    kind: str
    provenance: Provenance | None
    home: str = ""
    outranked: bool = False


class Holding(NamedTuple):
    """The ownership of an operator, a protocol, an effect or the like.

    Attributes:
      owner: the plugin that entered it first.
      current: the provenance of the present one.
    """

    owner: str
    current: Provenance


class Registry:
    """The object with which `primax_register` enters rules and other objects.

    Args:
      plugin: the plugin's name.
      primitives: the primitives of all plugins, by name; shared by all registries of one host.
      owners: the owner of each operator, protocol, effect and aval handler; shared by all registries.
      consents: the plugins that may override rules of others; shared by all registries, None to allow all.
    """

    def __init__(
        self,
        plugin: str,
        primitives: dict[str, Primitive],
        owners: dict[tuple[str, Any], Holding] | None = None,
        consents: Consents | None = None,
    ) -> None:
        self._consents = consents
        self.plugin = plugin
        self.entries: list[Entry] = []
        self.awaited: list[Awaited] = []
        self.undos: list[Callable[[], None]] = []
        self.open = True
        self._primitives = primitives
        self._owners = {} if owners is None else owners

    def __repr__(self) -> str:
        return f"<Registry of {self.plugin}: {len(self.entries)} entries>"

    def define(
        self,
        primitive: Primitive,
        *,
        unsupported: Mapping[str, str] | None = None,
        override: bool = False,
        experimental: bool = False,
        differs: Mapping[str, str] | None = None,
        samples: Sequence[SampleSource] = (),
        with_plugins: Mapping[str, Mapping[str, Any]] | None = None,
        **given: Any,
    ) -> None:
        """Enter a primitive and its rules, or further rules for a primitive of another plugin.

        Args:
          primitive: the primitive of the rules.
          unsupported: for kinds of rules that cannot exist, the reason, which error messages show.
          override: whether to replace existing rules.
          experimental: whether the author accepts that rules of experimental kinds may change in any release. Otherwise
            `primax check` and `primax plugins` say so.
          differs: for kinds of overriding rules that give other results than the rules that they replace, the reason;
            the conformance kit compares the others.
          samples: samples of the primitive, as for the method `samples`.
          with_plugins: rules of kinds that other plugins make, which need not be installed: a mapping from names of
            plugins to rules by kind. They are entered when the plugin is active.
          given: rules by kind: impl, abstract_eval, jvp, transpose, batch, lowering and the other keys of
            `rule_tables`. A lowering may be a mapping from platforms to rules, with None for all others. None
            means that there is no rule. A rule may be a derivation, such as `derive.loop`.

        Raises:
          TypeError: a keyword is not a kind of rule, a rule is not callable, or `override` is not a bool.
          PluginError: the name belongs to another primitive, or a rule is there and `override` is False.
        """
        self._require_open("define")
        if not isinstance(primitive, Primitive):
            raise TypeError(f"registry.define: primitive must be a Primitive, got {primitive!r}")
        if not isinstance(override, bool):
            raise TypeError(f"registry.define({primitive}): override must be True or False, got {override!r}")
        where = f"registry.define({primitive})"
        differs = _require_reasons(f"{where}: differs", {} if differs is None else differs)
        if differs and not (override and differs.keys() <= given.keys()):
            raise TypeError(f"{where}: differs must be for rules that are given with override=True, got {[*differs]}")
        not_entered.discard(primitive)
        rules.loader.load_family(primitive)
        rules.load_plugins()
        unsupported = unsupported or {}
        awaited = awaited_rules(where, primitive, with_plugins)
        flat = rules_to_enter(where, primitive, given, unsupported)
        with undo_log.recording(self.undos):
            self._claim(primitive)
            for (kind, key), rule in flat.items():
                self._enter_rule(primitive, rule_tables[kind], key, rule, override, experimental)
            if override:
                kept = {k: v for k, v in declared_differences.get(primitive, {}).items() if k not in given}
                undo_log.put(declared_differences, primitive, {**kept, **differs})
            for kind, reason in unsupported.items():
                undo_log.put(rule_tables[kind].unsupported, primitive, reason)
                self._log("unsupported", self._key_of(primitive), kind)
        self.awaited += awaited
        for waiting in awaited:
            self._log("awaited", self._key_of(primitive), waiting.kind)
        if samples:
            self.samples(primitive, *samples)

    def enter_awaited(self, plugin: str) -> list[str]:
        """Enter the rules that wait for a plugin, which is active; returns what is wrong with the others."""
        faults = []
        for rule in [rule for rule in self.waiting() if rule.plugin == plugin]:
            entry, fault = ("rule", self._key_of(rule.primitive), rule.kind), rule.fault()
            self.entries = [e for e in self.entries if e[:3] != entry]  # of a table that is gone
            try:
                if not fault:
                    table = rule_tables[rule.kind]
                    with undo_log.recording(self.undos):
                        self._enter_rule(rule.primitive, table, rule.primitive, rule.rule, False, False)
            except (PluginError, TypeError) as error:
                fault = str(error)
            faults += [f"plugin {self.plugin!r}: registry.define({rule.primitive}): {fault}"] if fault else []
        return faults

    def waiting(self) -> list[Awaited]:
        """The rules that wait for plugins, without those that are entered."""
        tables = [(rule, rule_tables.get(rule.kind)) for rule in self.awaited]
        return [r for r, t in tables if t is None or getattr(t.sources.get(r.primitive), "plugin", "") != self.plugin]

    def samples(self, primitive: Primitive, *samples: SampleSource) -> None:
        """Add samples of a primitive for the conformance kit.

        Args:
          primitive: a primitive of this plugin or another.
          samples: each a `Sample`, a function that returns several, or a text `"module:attribute"`. The attribute is
            one of these, a list of them, or a mapping from primitives to them. The module is imported, and the
            function called, only when the samples are needed.

        Raises:
          TypeError: a sample is none of these.
        """
        self._require_open("samples")
        if not isinstance(primitive, Primitive):
            raise TypeError(f"registry.samples: primitive must be a Primitive, got {primitive!r}")
        require_samples(f"registry.samples({primitive})", samples)
        with undo_log.recording(self.undos):
            undo_log.put(sample_sources, primitive, [*sample_sources.get(primitive, ()), *samples])
        self._log("samples", self._key_of(primitive))

    def allow_overrides(self, *plugins: str) -> None:
        """Allow other plugins to override entries of this plugin: rules of its primitives, its operators and so on.

        Args:
          plugins: the names of these plugins; without names, all plugins may.

        Raises:
          TypeError: an argument is not a name.
        """
        self._require_open("allow_overrides")
        for name in plugins:
            if not isinstance(name, str) or not name:
                raise TypeError(f"registry.allow_overrides: plugins must be names, got {name!r}")
        if self._consents is not None:
            with undo_log.recording(self.undos):
                undo_log.put(self._consents.by_plugin, self.plugin, plugins or ("*",))

    def array_protocol(
        self, aval_type: type, *, override: bool = False, experimental: bool = False, **functions: Callable[..., Any]
    ) -> None:
        """Supply the operations that interpreters need on values whose aval is an `aval_type`.

        Args:
          aval_type: a subclass of `AbstractValue`.
          override: whether to replace an existing protocol.
          experimental: whether the author accepts that protocols may change in any release.
          functions: the fields of `ArrayProtocol`; those that may be None are optional.

        Raises:
          TypeError: a function is missing, unknown or not callable.
          PluginError: the protocol is supplied already and `override` is False.
        """
        self._require_open("array_protocol")
        where = "registry.array_protocol"
        if not (isinstance(aval_type, type) and issubclass(aval_type, AbstractValue)):
            raise TypeError(f"{where}: aval_type must be a subclass of AbstractValue, got {aval_type!r}")
        _require_known(f"{where}: functions", functions, ArrayProtocol._fields)
        missing = [name for name in _REQUIRED if name not in functions]
        if missing:
            raise TypeError(f"{where}({aval_type.__name__}): {', '.join(missing)} must be given")
        _require_callable(where, functions)
        note_experimental("custom aval types", self.plugin, experimental)
        if self._may_enter("protocol", aval_type, lazy_entries["protocol"], override):
            with self._entering("protocol", aval_type, functions["zeros"]):
                install_protocol(aval_type, ArrayProtocol(**functions), override=override)

    def operators(self, *, override: bool = False, **functions: Callable[..., Any]) -> None:
        """Implement Python's operators, and the methods and properties of arrays.

        Args:
          override: whether to replace existing operators.
          functions: by name: `add` is `x + y`, `radd` its reflected form, `getitem` is `x[i]`, `sum` is
            `x.sum()`.

        Raises:
          TypeError: a name is not an operator of arrays, or a function is not callable.
          PluginError: another plugin supplies an operator and `override` is False.
        """
        self._require_open("operators")
        _require_known("registry.operators: operators", functions, operator_names)
        _require_callable("registry.operators", functions)
        for name, function in functions.items():
            if self._may_enter("operator", name, lazy_entries["operator"], override):
                with self._entering("operator", name, function):
                    install_operators({name: function})

    def functions(self, **functions: Callable[..., Any]) -> None:
        """Offer functions to users, in `primax.contrib.<plugin>`.

        Args:
          functions: by name.

        Raises:
          TypeError: a function is not callable.
          ValueError: a name begins with an underscore.
          PluginError: the plugin has offered a function of that name already.
        """
        self._require_open("functions")
        _require_callable("registry.functions", functions)
        with undo_log.recording(self.undos):
            for name, function in functions.items():
                if name.startswith("_"):
                    raise ValueError(f"registry.functions: a name must not begin with an underscore, got {name!r}")
                if (self.plugin, name) in contributions:
                    raise RefusedError(f"plugin {self.plugin!r} may not offer two functions {name!r}")
                undo_log.put(contributions, (self.plugin, name), function)
                self._log("function", name)

    def effect(
        self,
        kind: type[Effect],
        *,
        ordered: bool = False,
        control_flow: bool = False,
        custom_derivatives: bool = False,
        override: bool = False,
    ) -> None:
        """Register a class of effects.

        Args:
          kind: a subclass of `Effect`.
          ordered: whether these effects happen in program order.
          control_flow: whether they are allowed inside loops and branches.
          custom_derivatives: whether they are allowed inside functions with custom derivative rules.
          override: whether to replace an earlier registration of `kind`.

        Raises:
          TypeError: `kind` is not a subclass of `Effect`.
          PluginError: `kind` is registered already and `override` is False.
        """
        self._require_open("effect")
        if not isinstance(kind, type) or self._may_enter("effect", kind, lazy_entries["effect"], override):
            with self._entering("effect", kind, None):
                register_effect(kind, ordered=ordered, control_flow=control_flow, custom_derivatives=custom_derivatives)

    def aval(self, python_type: type, handler: Callable[[Any], AbstractValue], *, override: bool = False) -> None:
        """Register the handler that gives the abstract value of Python values of one class.

        Args:
          python_type: the class.
          handler: `(value) -> aval`.
          override: whether to replace an existing handler.

        Raises:
          TypeError: `python_type` is not a class, or `handler` not callable.
          PluginError: there is a handler and `override` is False.
        """
        self._require_open("aval")
        if not isinstance(python_type, type):
            raise TypeError(f"registry.aval: python_type must be a class, got {python_type!r}")
        _require_callable("registry.aval", {"handler": handler})
        if self._may_enter("aval", python_type, lazy_entries["aval"], override):
            with self._entering("aval", python_type, handler):
                register_aval(python_type, handler)

    def enter(
        self, what: str, table: MutableMapping[str, Any], name: str, value: Any, *, override: bool = False
    ) -> None:
        """Enter a named value in a table that several plugins share.

        Args:
          what: the kind of value in the table, in one word, such as `"generator"`.
          table: a `Table`, which imports a plugin when one of the plugin's names is looked up; or another mapping,
            which cannot do this, so that every program imports the plugin.
          name: the name of the value in the table.
          value: the value.
          override: whether to replace an existing value of that name.

        Raises:
          TypeError: `table` is not a mutable mapping, `what` or `name` is not a string, or `what` differs from that of
            the `Table`.
          PluginError: the name is taken and `override` is False.
        """
        self._require_open("enter")
        _require_type("registry.enter: table must be a dictionary", table, MutableMapping)
        _require_type("registry.enter: what must be a string", what, str)
        _require_type("registry.enter: name must be a string", name, str)
        if not isinstance(table, Table):
            if self._may_enter(what, name, table, override):
                with self._entering(what, name, value):
                    undo_log.put(table, name, value)
            return
        if what != table.what:
            raise TypeError(f"registry.enter: what must be {table.what!r}, as the table says, got {what!r}")
        if self._may_enter(what, name, table.lazy, override):
            with self._entering(what, name, value, table.home):
                table[name] = value

    def roll_back(self) -> None:
        """Undo every entry, and all other writes of the plugin to shared tables, latest first.

        This restores overridden entries.
        """
        self.open = False
        if self.undos:
            with rules.lock:
                undo_log.undo_all(self.undos)
                epoch.bump()
        self.entries = []

    def _require_open(self, method: str) -> None:
        if not self.open:
            raise PluginError(
                f"registry.{method}: the registry of plugin {self.plugin!r} must be used "
                "before its primax_register returns"
            )

    def _log(
        self,
        what: str,
        name: str,
        kind: str = "",
        provenance: Provenance | None = None,
        home: str = "",
        outranked: bool = False,
    ) -> None:
        self.entries.append(Entry(what, name, kind, provenance, home, outranked))

    def _claim(self, primitive: Primitive) -> None:
        """Reserve the primitive's name, unless the primitive has been entered already.

        If another plugin has a primitive of this name, both primitives get full names, as in `beta::scale`. Primitives
        of primax keep their short names.
        """
        name = primitive.name
        if name not in self._primitives:
            rules.loader.load_family_with(name)
        holder = self._primitives.get(name)
        full_name = f"{self.plugin}::{name}"
        if holder is primitive or self._primitives.get(full_name) is primitive:
            return
        before = primitive.plugin, primitive.full_name

        def undo() -> None:
            primitive.plugin, primitive.full_name = before

        undo_log.note(undo)
        if holder is None:
            undo_log.put(self._primitives, name, primitive)
        elif holder.plugin == self.plugin or full_name in self._primitives:
            raise RefusedError(f"plugin {self.plugin!r} may not define two primitives {name!r}")
        else:
            self._tell_apart(holder)
            primitive.full_name = full_name
            undo_log.put(self._primitives, full_name, primitive)
        primitive.plugin = self.plugin
        self._log("primitive", self._key_of(primitive))

    def _tell_apart(self, holder: Primitive) -> None:
        """Show a primitive of a plugin by its full name, since another one will have the same short name."""
        if holder.full_name or belongs(holder.module, built_in):
            return

        def undo() -> None:
            holder.full_name = ""

        holder.full_name = f"{holder.plugin}::{holder.name}"
        undo_log.note(undo)

    def _key_of(self, primitive: Primitive) -> str:
        """The name of a primitive in the table of all plugins."""
        if self._primitives.get(primitive.name) is primitive:
            return primitive.name
        return primitive.full_name or primitive.name

    def _enter_rule(
        self, primitive: Primitive, table: RuleTable, key: Any, rule: Any, override: bool, experimental: bool
    ) -> None:
        current = table.sources.get(key)
        if current is not None and not override and current.plugin == self.plugin:
            raise RefusedError(
                f"plugin {self.plugin!r} gives the {table.kind} rule of {name_of_key(key)} twice: it is there already, "
                f"{current}"
            )
        if current is not None and not override:
            raise RefusedError(
                f"plugin {self.plugin!r} may not replace the {table.kind} rule of {name_of_key(key)}, "
                f"{current}, unless it passes override=True"
            )
        if current is not None:
            refusal = rules.loader.refusal(primitive.plugin, current)
            if refusal:
                raise RefusedError(
                    f"plugin {self.plugin!r} may not replace the {table.kind} rule of {name_of_key(key)}, "
                    f"{current}, {refusal}"
                )
            if self._is_outranked(current):
                self._log("rule", self._key_of(primitive), _shown_kind(table, key), current, outranked=True)
                return
        table.register(key, rule, plugin=self.plugin, override=override, experimental=experimental)
        provenance = table.sources[key] = self._placed(table.sources[key], rule)
        primitive.types.clear()
        primitive.programs.clear()
        self._log("rule", self._key_of(primitive), _shown_kind(table, key), provenance)

    def _placed(self, provenance: Provenance, rule: Any) -> Provenance:
        """The provenance of a rule; if a public factory made the rule, with the line that called the factory."""
        if isinstance(rule, DerivedRule) and rule.place:
            return provenance
        function = function_of(rule)
        while hasattr(function, "func"):
            function = function.func
        if not is_surface(getattr(function, "__module__", None) or ""):
            return provenance
        who = author()
        return provenance._replace(file=who.file, line=who.line)

    def _is_outranked(self, current: Provenance) -> bool:
        return self._consents is not None and self._consents.is_outranked(self.plugin, current)

    def _may_enter(self, what: str, key: Any, held: LazyEntries | MutableMapping[str, Any], override: bool) -> bool:
        """Whether to enter something that is not a rule: False if the user gives priority to the plugin of the present
        entry.

        Args:
          what: the kind of the entry, in one word.
          key: its name or class.
          held: the table.
          override: whether to replace an existing entry.

        Raises:
          RefusedError: there is an entry already, and `override` is False or the plugin has no consent.
        """
        if isinstance(held, LazyEntries):
            held.unhide(key)
            held = held.table
        if key not in held:
            return True
        holding = self._owners.get((what, key))
        name, source = _name_of(key), str(holding.current) if holding is not None else "given by primax itself"
        if not override:
            raise RefusedError(
                f"plugin {self.plugin!r} may not replace the {what} {name!r}, {source}, unless it passes override=True"
            )
        if holding is None and not (isinstance(key, type) and key.__module__.startswith(_OF_THE_KERNEL)):
            return True
        if holding is None:
            holding = Holding("primax", Provenance("primax", "", 0))
        refusal = rules.loader.refusal(holding.owner, holding.current)
        if refusal:
            raise RefusedError(f"plugin {self.plugin!r} may not replace the {what} {name!r}, {source}, {refusal}")
        if self._is_outranked(holding.current):
            self._log(what, name, "", holding.current, outranked=True)
            return False
        return True

    @contextmanager
    def _entering(self, what: str, key: Any, value: Any, home: str = "") -> Iterator[None]:
        """A `with` block that enters a value: the entry can be undone, is listed, and belongs to this plugin.

        Args:
          what: the kind of value, in one word.
          key: its name or class.
          value: the value.
          home: the module that has the table; not used if the key is a class.
        """
        with undo_log.recording(self.undos):
            yield
            before = self._owners.get((what, key))
            replaced = None if before is None else before.current._replace(replaced=None)
            file, line = rules.location(value)
            if not line:
                who = author()
                file, line = who.file, who.line
            origin = "given" if before is None else "overridden"
            provenance = Provenance(self.plugin, file, line, origin, replaced)
            owner = self.plugin if before is None else before.owner
            undo_log.put(self._owners, (what, key), Holding(owner, provenance))
        self._log(what, _name_of(key), "", provenance, key.__module__ if isinstance(key, type) else home)


def find_primitive(primitives: Mapping[str, Primitive], name: str) -> Primitive | None:
    """The primitive of a short or full name; None if there is none.

    Args:
      primitives: those of all plugins, by name.
      name: a short or full name, such as `"scale"` or `"beta::scale"`.

    Raises:
      PluginError: the short name belongs to primitives of several plugins, none of which is primax's.
    """
    plugin, _, short = name.rpartition("::")
    if plugin:
        return next((p for p in primitives.values() if p.plugin == plugin and p.name == short), None)
    primitive = primitives.get(name)
    if primitive is not None and primitive.full_name:
        names = sorted(p.full_name for p in primitives.values() if p.name == name)
        raise PluginError(f"primitive {name!r} may be {' or '.join(names)}: say which")
    return primitive


# The first parts of modules with classes whose types the kernel knows. With as-jax, arrays have classes named as jax's.
_OF_THE_KERNEL = ("primax.", "builtins", "numpy", "jax")


def _shown_kind(table: RuleTable, key: Any) -> str:
    return f"{table.kind}[{key[1]}]" if isinstance(key, tuple) else table.kind


def _name_of(key: Any) -> str:
    return key.__name__ if isinstance(key, type) else str(key)


def _on(key: Any) -> str:
    return f" for platform {key[1]!r}" if isinstance(key, tuple) else ""


def rules_to_enter(
    where: str, primitive: Primitive, given_rules: Mapping[str, Any], unsupported: Mapping[str, str]
) -> dict[tuple[str, Any], Callable[..., Any]]:
    """Rules by kind and table key, checked, and derived where a derivation was given.

    Args:
      where: the called function, for messages.
      primitive: the primitive of the rules.
      given_rules: rules and derivations by kind; lowerings may be mappings from platforms.
      unsupported: reasons by kind.

    Raises:
      TypeError: a kind is unknown, or given and unsupported; a rule is not a function; a reason is not a text.
    """
    _require_known(f"{where}: rule kinds", (*given_rules, *unsupported), rule_tables)
    entries = {}
    for (kind, key), rule in _flatten(where, primitive, given_rules):
        resolved = rules.resolved(where, rule, primitive, kind, given_rules)
        if not callable(resolved):
            raise TypeError(
                f"{where}: the {kind} rule{_on(key)} must be a function {rule_tables[kind].signature}, got {rule!r}"
            )
        if kind in unsupported:
            raise TypeError(f"{where}: {kind} is given and declared unsupported")
        entries[kind, key] = resolved
    implied = implied_rule({kind: rule for (kind, _), rule in entries.items()})
    if implied is not None and "sharding" not in unsupported:
        entries.setdefault(("sharding", primitive), implied)
    for kind, reason in unsupported.items():
        if not (isinstance(reason, str) and reason):
            raise TypeError(f"{where}: the reason why {kind} is unsupported must be text, got {reason!r}")
    return entries


_PLACE = r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*"


def require_samples(where: str, samples: Iterable[Any]) -> None:
    """Check the sources of samples.

    Raises:
      TypeError: a source is neither a `Sample`, nor a function, nor a text `"module:attribute"`.
    """
    for sample in samples:
        if isinstance(sample, str):
            if not re.fullmatch(_PLACE, sample):
                raise TypeError(f"{where}: samples must say where they are as 'module:attribute', got {sample!r}")
        elif not (callable(sample) or isinstance(sample, import_module("primax.extend.core.samples").Sample)):
            raise TypeError(f"{where}: samples must be Samples or functions that return some, got {sample!r}")


def _flatten(where: str, primitive: Primitive, given_rules: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Any], Any]]:
    """Rules by kind and table key, with a separate key for each platform."""
    for kind, rule in given_rules.items():
        if rule is None:
            continue
        if kind == "lowering" and isinstance(rule, Mapping):
            for platform, one in rule.items():
                if one is None:
                    continue
                if platform is not None and not isinstance(platform, str):
                    raise TypeError(f"{where}: platforms of lowerings must be strings or None, got {platform!r}")
                yield (kind, primitive if platform is None else (primitive, platform)), one
        else:
            yield (kind, primitive), rule


def _require_known(where: str, names: Iterable[str], known: Collection[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        listed = sorted(known) if isinstance(known, frozenset) else list(known)
        hint = nearest(unknown, listed)
        if hint and len(listed) > 40:
            raise TypeError(f"{where} must be known ones, got {unknown!r}{hint}")
        raise TypeError(f"{where} must be among {', '.join(listed)}, got {unknown!r}{hint}")


def _require_reasons(where: str, reasons: Any) -> dict[str, str]:
    """A mapping from kinds of rules to reasons.

    Raises:
      TypeError: it is not one.
    """
    _require_type(f"{where} must be a mapping from kinds of rules to reasons", reasons, Mapping)
    _require_known(f"{where}: rule kinds", reasons, rule_tables)
    for kind, reason in reasons.items():
        if not (isinstance(reason, str) and reason):
            raise TypeError(f"{where} must give the reason for {kind} as text, got {reason!r}")
    return dict(reasons)


def _require_type(must: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{must}, got {value!r}")


def _require_callable(where: str, functions: Mapping[str, Any]) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{where}: {name} must be a function, got {function!r}")
