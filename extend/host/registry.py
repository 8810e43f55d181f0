"""The registry that a plugin gets: it enters rules and other objects, and records how to undo the entries."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from primax.core import rules, undo_log
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
from primax.extend.given_rules import (
    require_callable,
    require_known,
    require_reasons,
    require_samples,
    require_type,
    rules_to_enter,
)
from primax.extend.host.contributions import contributions, declared_differences, sample_sources
from primax.extend.host.override_policy import Consents
from primax.extend.provisional.awaited_rules import Awaited, awaited_rules

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

    Examples:
      >>> from primax.extend.core import Primitive, Registry
      >>> registry = Registry("mine", {})
      >>> registry.define(Primitive("twice"), impl=lambda x: 2 * x, abstract_eval=lambda x: x)
      >>> registry
      <Registry of mine: 3 entries>
      >>> registry.roll_back()  # undoes everything, as the host does if a plugin fails
      >>> registry
      <Registry of mine: 0 entries>
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
        self.extended: set[Primitive] = set()  # those that the plugin gave rules for while they had no owner
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
        differs = require_reasons(f"{where}: differs", {} if differs is None else differs)
        if differs and not (override and differs.keys() <= given.keys()):
            raise TypeError(f"{where}: differs must be for rules that are given with override=True, got {[*differs]}")
        not_entered.discard(primitive)
        is_anothers = rules.loader.load_owner(primitive)
        rules.load_plugins()
        unsupported = unsupported or {}
        awaited = awaited_rules(where, primitive, with_plugins)
        flat = rules_to_enter(where, primitive, given, unsupported)
        with undo_log.recording(self.undos):
            if primitive.plugin is None:
                self.extended.add(primitive)
            if not is_anothers:
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

    def samples(self, primitive: Primitive, *samples: SampleSource) -> None:
        """Add samples of a primitive for the conformance kit.

        Args:
          primitive: a primitive of this plugin or another.
          samples: each a `Sample`, a function that returns several, or a text `"module:attribute"`. The attribute is
            one of these, a list of them, or a mapping from primitives to them. The module is imported, and the
            function called, only when the samples are needed.

        Raises:
          TypeError: a sample is not one of these.
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
        require_known(f"{where}: functions", functions, ArrayProtocol._fields)
        missing = [name for name in _REQUIRED if name not in functions]
        if missing:
            raise TypeError(f"{where}({aval_type.__name__}): {', '.join(missing)} must be given")
        require_callable(where, functions)
        note_experimental("custom aval types", self.plugin, experimental)
        if self._may_enter("protocol", aval_type, lazy_entries["protocol"], override):
            with self._entering("protocol", aval_type, functions["zeros"], lazy_entries["protocol"]):
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
        require_known("registry.operators: operators", functions, operator_names)
        require_callable("registry.operators", functions)
        for name, function in functions.items():
            if self._may_enter("operator", name, lazy_entries["operator"], override):
                with self._entering("operator", name, function, lazy_entries["operator"]):
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
        require_callable("registry.functions", functions)
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
            with self._entering("effect", kind, None, lazy_entries["effect"]):
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
        require_callable("registry.aval", {"handler": handler})
        if self._may_enter("aval", python_type, lazy_entries["aval"], override):
            with self._entering("aval", python_type, handler, lazy_entries["aval"]):
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
        require_type("registry.enter: table must be a dictionary", table, MutableMapping)
        require_type("registry.enter: what must be a string", what, str)
        require_type("registry.enter: name must be a string", name, str)
        if not isinstance(table, Table):
            if self._may_enter(what, name, table, override):
                with self._entering(what, name, value, table):
                    undo_log.put(table, name, value)
            return
        if what != table.what:
            raise TypeError(f"registry.enter: what must be {table.what!r}, as the table says, got {what!r}")
        if self._may_enter(what, name, table.lazy, override):
            with self._entering(what, name, value, table.lazy, table.home):
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
            self._show_full_name(holder)
            primitive.full_name = full_name
            undo_log.put(self._primitives, full_name, primitive)
        primitive.plugin = self.plugin
        self._log("primitive", self._key_of(primitive))

    def _show_full_name(self, holder: Primitive) -> None:
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
        in_place_of = current or table.default_of(key)
        if in_place_of is not None:
            what = f"the {table.kind if current else 'lowering'} rule of {name_of_key(key) if current else primitive}"
            if not rules.loader.may_replace(what, primitive.plugin, in_place_of):
                self._log("rule", self._key_of(primitive), _shown_kind(table, key), in_place_of, outranked=True)
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

    def _may_enter(self, what: str, key: Any, held: LazyEntries | MutableMapping[str, Any], override: bool) -> bool:
        """Whether to enter something that is not a rule: False if the user prefers the plugin of the present entry.

        Args:
          what: the kind of the entry, in one word.
          key: its name or class.
          held: the table.
          override: whether to replace an existing entry.

        Raises:
          RefusedError: there is an entry already, and `override` is False or the plugin has no consent.
        """
        loader = rules.loader
        if isinstance(held, LazyEntries):
            if isinstance(key, type):
                loader.load_owner(key)
            held.unhide(key)
        holding = self._owners.get((_in_full(what, held), key))
        if key not in (held.table if isinstance(held, LazyEntries) else held):
            return True
        source = str(holding.current) if holding is not None else "given by primax itself"
        if not override:
            raise RefusedError(
                f"plugin {self.plugin!r} may not replace the {what} {name_of_entry(key)!r}, {source}, unless it passes "
                "override=True"
            )
        if isinstance(held, LazyEntries):
            allowed = loader.may_enter(held.what, key)
        else:
            described = f"the {what} {name_of_entry(key)!r}"
            allowed = holding is None or loader.may_replace(described, holding.owner, holding.current)
        if not allowed and holding is not None:
            self._log(what, name_of_entry(key), "", holding.current, outranked=True)
        return allowed

    @contextmanager
    def _entering(
        self, what: str, key: Any, value: Any, held: LazyEntries | MutableMapping[str, Any], home: str = ""
    ) -> Iterator[None]:
        """A `with` block that enters a value: the entry can be undone, is listed, and belongs to this plugin.

        Args:
          what: the kind of value, in one word.
          key: its name or class.
          value: the value.
          held: the table.
          home: the module that has the table; not used if the key is a class.
        """
        in_full = _in_full(what, held)
        before = self._owners.get((in_full, key))
        with undo_log.recording(self.undos):
            yield
            file, line = rules.location(value)
            if not line:
                who = author()
                file, line = who.file, who.line
            provenance = hold(self._owners, self.plugin, in_full, key, before, (file, line))
        self._log(what, name_of_entry(key), "", provenance, key.__module__ if isinstance(key, type) else home)


def _in_full(what: str, held: LazyEntries | MutableMapping[str, Any]) -> str:
    """The kind of an entry, with the module of its table if there may be several tables of this kind."""
    return held.what if isinstance(held, LazyEntries) else what


def hold(
    owners: dict[tuple[str, Any], Holding],
    plugin: str,
    what: str,
    key: Any,
    before: Holding | None,
    place: tuple[str, int],
) -> Provenance:
    """Record, reversibly, that a plugin has entered something in a table.

    Args:
      owners: the record.
      plugin: the plugin.
      what: the kind of the entry.
      key: its name or class.
      before: the earlier holding of the entry.
      place: the file and line.
    """
    replaced = None if before is None else before.current._replace(replaced=None)
    provenance = Provenance(plugin, *place, "given" if before is None else "overridden", replaced)
    undo_log.put(owners, (what, key), Holding(plugin if before is None else before.owner, provenance))
    return provenance


def waiting_rules(registry: Registry) -> list[Awaited]:
    """The rules of a plugin that wait for other plugins, without those that are entered."""
    tables = [(rule, rule_tables.get(rule.kind)) for rule in registry.awaited]
    return [r for r, t in tables if t is None or getattr(t.sources.get(r.primitive), "plugin", "") != registry.plugin]


def enter_awaited(registry: Registry, plugin: str) -> list[str]:
    """Enter the rules that wait for a plugin, which is active; returns the faults of those that cannot be entered."""
    faults = []
    for rule in [rule for rule in waiting_rules(registry) if rule.plugin == plugin]:
        entry, fault = ("rule", registry._key_of(rule.primitive), rule.kind), rule.fault()
        registry.entries = [e for e in registry.entries if e[:3] != entry]  # of a table that is gone
        try:
            if not fault:
                table = rule_tables[rule.kind]
                with undo_log.recording(registry.undos):
                    registry._enter_rule(rule.primitive, table, rule.primitive, rule.rule, False, False)
        except (PluginError, TypeError) as error:
            fault = str(error)
        faults += [f"plugin {registry.plugin!r}: registry.define({rule.primitive}): {fault}"] if fault else []
    return faults


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
        raise PluginError(f"primitive {name!r} is ambiguous: use one of {', '.join(names)}")
    return primitive


def _shown_kind(table: RuleTable, key: Any) -> str:
    return f"{table.kind}[{key[1]}]" if isinstance(key, tuple) else table.kind


def name_of_entry(key: Any) -> str:
    return key.__name__ if isinstance(key, type) else str(key)
