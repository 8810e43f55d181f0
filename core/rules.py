"""Rule tables: the rules that interpreters look up, their provenance, and errors for missing ones."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, Protocol

from primax.core import undo_log
from primax.core.cache import epoch
from primax.core.caller import author
from primax.core.derivation import Derivation, DerivedRule, function_of
from primax.core.diagnostics import missing_text, name_of_key
from primax.core.errors import MissingRuleError, PluginError, UnsupportedError
from primax.core.experimental import experimental as note_experimental

Rule = Callable[..., Any]


class Provenance(NamedTuple):
    """Where a rule comes from.

    Attributes:
      plugin: the plugin that entered it, or else the module of the rule.
      file: where the rule is written.
      line: the line there.
      origin: `"given"`, `"overridden"`, or `"derived from"` something.
      replaced: the provenance of the rule that it replaced, if there was one.
    """

    plugin: str
    file: str
    line: int
    origin: str = "given"
    replaced: Provenance | None = None

    def __str__(self) -> str:
        return f"{self.origin} by {self.plugin} ({self.file}:{self.line})"

    def as_dict(self) -> dict[str, Any]:
        """Its fields by name, for JSON."""
        return {**self._asdict(), "replaced": None if self.replaced is None else self.replaced.as_dict()}


class Change(NamedTuple):
    """One write to a table, enough to undo it."""

    table: RuleTable
    key: Any
    before: tuple[Rule, Provenance] | None
    replaced: Rule | None


lock = threading.RLock()
_DERIVED = "derived from "


class RuleTable(MutableMapping[Any, Rule]):
    """One kind of rule, by primitive: a mapping that shows the rules of all active plugins.

    Interpreters read `functions`, which has the rules entered so far. Without an optional rule, interpreters use a
    default. `table[p] = rule` enters a rule, or replaces a rule of the same author. Only
    `register(p, rule, override=True)` replaces another author's rule of a plugin's primitive.
    """

    module = ""  # of the author of a third party's kind

    def __init__(
        self,
        kind: str,
        signature: str,
        remedy: str = "",
        *,
        optional: bool = False,
        experimental: bool = False,
        late: bool = False,
        check: Callable[..., Any] | None = None,
    ) -> None:
        self.kind = kind
        self.signature = signature
        self.remedy = remedy
        self.optional = optional
        self.experimental = experimental
        self.late = late  # whether programs made without a rule stay valid when one is added
        self.check = check  # of `primax check`
        self.of_value: dict[type, Callable[[Any], Rule]] = {}  # by type: makes a rule from a value given in its place
        self.functions: dict[Any, Rule] = {}
        self.replaced: dict[Any, Rule] = {}  # the rules that the present ones replaced
        self.unsupported: dict[Any, str] = {}
        self.sources: dict[Any, Provenance] = {}  # the plugin of each rule entered so far

    @property
    def provenance(self) -> dict[Any, Provenance]:
        """The provenance of each rule, except for those of waiting families."""
        load_plugins()
        return self.sources

    def __getitem__(self, primitive: Any) -> Rule:
        rule = self.get_or_load(primitive)
        if rule is None:
            raise KeyError(primitive)
        return rule

    def __contains__(self, primitive: object) -> bool:
        return self.get_or_load(primitive) is not None

    def __iter__(self) -> Iterator[Any]:
        load_plugins(everything=True)
        return iter([key for key in self.functions if not is_form(key)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        self.register(primitive, rule, override=None)

    def __delitem__(self, primitive: Any) -> None:
        self.remove(primitive, override=None)

    def __repr__(self) -> str:
        return f"<RuleTable {self.kind}: {len(self)} rules>"

    def register(
        self,
        key: Any,
        rule: Rule,
        *,
        plugin: str | None = None,
        override: bool | None = False,
        origin: str = "given",
        experimental: bool = False,
    ) -> Change:
        """Enter a rule; replacing another author's rule needs `override`.

        Args:
          key: a primitive; for lowerings also a pair of a primitive and a platform.
          rule: the rule, or a derivation of it.
          plugin: its author; by default the calling module.
          override: whether to replace an existing rule; None for only one of the caller's, or if no plugin owns `key`.
          origin: the origin of the rule; by default that of its derivation.
          experimental: whether the author accepts that an experimental kind of rule may change in any release.

        Raises:
          TypeError: the key is not a primitive, or the rule is not callable or cannot be derived.
          PluginError: there is a rule already, and `override` is False or the plugin that calls has no consent.
        """
        primitive = _primitive(key)
        if not hasattr(primitive, "bind"):
            raise TypeError(f"{self.kind} rules are for primitives, got {key!r}")
        rule = resolved(f"{self.kind} rule of {key}", rule, primitive, self.kind, {})
        file, line = location(rule)
        if isinstance(rule, DerivedRule):
            if rule.origin and origin == "given":
                origin = f"{_DERIVED}{rule.origin}"
            rule = rule.function
        if not callable(rule):
            raise TypeError(f"{self.kind} rule of {key}: expected a function {self.signature}, got {rule!r}")
        if self.experimental:
            note_experimental(f"{self.kind} rules", plugin, experimental)
        if plugin is None:
            who = author()
            plugin = self._writer(primitive, who.module)
            if who.file != file:
                file, line = who.file, who.line
        with lock:
            old = self.functions.get(key)
            before = None if old is None else (old, self.sources[key])
            allowed = self._may_replace(key, override, "replace", "register", "rule")
            change = self._changed(key, before)
            if not allowed:
                return change
            if before is not None:
                self.replaced[key] = before[0]
                origin = "overridden" if origin == "given" else origin
            self.functions[key] = rule
            replaced = None if before is None else before[1]._replace(replaced=None)
            self.sources[key] = Provenance(plugin, file, line, origin, replaced)
            if before is not None or (not self.late and self._was_missed(key)):
                epoch.bump()
            return change

    def register_private(self, form: Any, rule: Rule, provenance: Provenance) -> None:
        """Enter a rule for a form of a primitive; the rule is not listed, and lives as long as the form."""
        with lock:
            self.functions[form] = rule
            self.sources[form] = provenance

    def entered(self, key: Any) -> Any:
        """A rule as it was entered: a `DerivedRule` if it was derived."""
        rule, origin = self.functions[key], self.sources[key].origin
        return DerivedRule(rule, origin.removeprefix(_DERIVED)) if origin.startswith(_DERIVED) else rule

    def remove(self, key: Any, *, override: bool | None = False) -> Change:
        """Remove a rule; another author's rule needs `override`, as in `register`.

        Raises:
          KeyError: there is none.
          PluginError: `override` is False, or the plugin that calls has no consent.
        """
        if key not in self:
            raise KeyError(key)
        with lock:
            before = self.functions[key], self.sources[key]
            if not self._may_replace(key, override, "remove", "remove"):
                return Change(self, key, before, self.replaced.get(key))
            change = self._changed(key, before)
            del self.functions[key], self.sources[key]
            self.replaced.pop(key, None)
            epoch.bump()
            return change

    def _may_replace(self, key: Any, override: bool | None, verb: str, method: str, *args: str) -> bool:
        """Whether the caller may replace or remove a rule; False if another plugin's replacement has priority."""
        primitive, current, default = _primitive(key), self.sources.get(key), self.default_of(key)
        owner = getattr(primitive, "plugin", None)
        if current is None:
            return default is None or loader.may_replace(f"the lowering rule of {primitive}", owner, default)
        module = author().module
        if override is None:
            owns = current.plugin == module or (current.plugin == owner and primitive.module == module)
            override = owner is None or owns or bool(loader.writer())
        if not override:
            name = f"{primitive.name}_p"
            written = f"({name}, {key[1]!r})" if isinstance(key, tuple) else name
            raise PluginError(
                f"{name_of_key(key)} has a {self.kind} rule already, {current}; pass override=True to {verb} it: "
                f"rule_tables[{self.kind!r}].{method}({', '.join((written, *args))}, override=True)"
            )
        return loader.may_replace(f"the {self.kind} rule of {name_of_key(key)}", owner, current)

    def _writer(self, primitive: Any, module: str) -> str:
        """The plugin or module that adds a rule; loads the primitive's owner and the plugins with rules for it."""
        if getattr(primitive, "module", None) == module:
            return module
        loader.load_owner(primitive)
        loader.complete(primitive)
        return loader.writer() or module

    def default_of(self, key: Any) -> Provenance | None:
        """The rule that applies without one for `key`: the lowering for all platforms, or that in place of an impl."""
        if isinstance(key, tuple):
            return self.sources.get(key[0])
        return lowering_rules.sources.get(key) if self is impl_rules else None

    def restore(self, change: Change) -> None:
        """Undo one registration."""
        with lock:
            if change.before is None:
                self.functions.pop(change.key, None)
                self.sources.pop(change.key, None)
            else:
                self.functions[change.key], self.sources[change.key] = change.before
            self.replaced.pop(change.key, None)
            if change.replaced is not None:
                self.replaced[change.key] = change.replaced
            epoch.bump()

    def _changed(self, key: Any, before: tuple[Rule, Provenance] | None) -> Change:
        change = Change(self, key, before, self.replaced.get(key))
        undo_log.note(functools.partial(self.restore, change))
        return change

    def _was_missed(self, key: Any) -> bool:
        """Whether there may be programs that were made without this rule, and would have used it."""
        primitive = _primitive(key)
        return (self.optional or primitive is not key) and getattr(primitive, "used", False)

    def find(self, primitive: Any, asked: str = "") -> Rule:
        """The rule; loads plugins if necessary.

        Args:
          primitive: the primitive.
          asked: the name of the operation that needs the rule, for messages; by default the current transformation.

        Raises:
          MissingRuleError: no active plugin has such a rule; an `UnsupportedError` if one says that there is none.
        """
        rule = self.get_or_load(primitive)
        if rule is None:
            raise missing_error(self, primitive)(explain_missing(self, primitive, asked))
        return rule

    def get_or_load(self, primitive: Any) -> Rule | None:
        """The rule or None; loads the plugins that have rules for the primitive."""
        loader.complete(_primitive(primitive))
        return self.functions.get(primitive)


class _DischargeTable(RuleTable):
    """The rules of primitives with mutable operands. With the first reference, `bind` of these is replaced."""

    bind_mutable: Any = None  # takes the primitive, its operands and its parameters
    discharge: Callable[[Any], Any] | None = None  # the program without references; see `Discharged`
    lowerable: Callable[..., Any] | None = None  # a program and a target as they are lowered

    def register(self, key: Any, *args: Any, **kwargs: Any) -> Change:
        change = super().register(key, *args, **kwargs)
        if self.bind_mutable is not None:
            self._replace_bind(key)
        return change

    def install(self, bind_mutable: Callable[..., Any]) -> None:
        """Let `bind_mutable` bind all primitives of the table, including those registered later."""
        self.bind_mutable = bind_mutable
        for primitive in self.functions:
            self._replace_bind(primitive)

    def _replace_bind(self, primitive: Any) -> None:
        undo_log.put(vars(primitive), "bind", functools.partial(self.bind_mutable, primitive))
        undo_log.put(vars(primitive), "mutable_operands", True)


def _primitive(key: Any) -> Any:
    """The primitive that a key of a table belongs to."""
    return key[0] if isinstance(key, tuple) else key


def is_form(key: Any) -> bool:
    """Whether a key of a table belongs to a form of a primitive, such as its batched form."""
    return getattr(_primitive(key), "form_of", None) is not None


def resolved(where: str, rule: Any, primitive: Any, kind: str, rules: Mapping[str, Any]) -> Any:
    """A rule; if it is a derivation, the rule that it makes from the others, which exist or are given along with it.

    Raises:
      TypeError: the rule cannot be derived.
    """
    if isinstance(rule, DerivedRule):
        return rule
    if not isinstance(rule, Derivation):
        of_value = rule_tables[kind].of_value.get(type(rule)) if kind in rule_tables else None
        if of_value is None:
            return rule
        try:
            return of_value(rule)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    entered = {name: table.entered(primitive) for name, table in rule_tables.items() if primitive in table.functions}
    return rule.rule_for(where, primitive, kind, {**entered, **rules})


def location(rule: Any) -> tuple[str, int]:
    """The file and line that asked for a derived rule, if it records them, or else those of its written function."""
    if isinstance(rule, DerivedRule) and rule.place is not None:
        return rule.place
    rule = written(function_of(rule))
    code = getattr(rule, "__code__", None)
    return ("<builtin>", 0) if code is None else (code.co_filename, code.co_firstlineno)


def written(rule: Any) -> Any:
    """The function that an author wrote, if a factory, a partial or a decorator made the given one from it."""
    for _ in range(100):  # an object that wraps itself has no innermost function
        inner = getattr(rule, "func", None) or getattr(rule, "__wrapped__", None)
        if inner is None and not hasattr(rule, "__code__") and not isinstance(rule, type):
            inner = getattr(type(rule).__call__, "__code__", None) and type(rule).__call__  # an object that is called
        if inner is None:
            break
        rule = inner
    return rule


class PluginLoader(Protocol):
    """The interface of the plugin host that the kernel uses.

    Attributes:
      changes: the number of new primitives, new tables and other events after which plugins must be checked again.
    """

    changes: int

    def load(self, everything: bool = False) -> bool:
        """Activate the plugins that may have rules for imported modules, or all; True if anything may have changed."""

    def discover(self) -> None:
        """Find the installed plugins."""

    def complete(self, primitive: Any) -> None:
        """`load`, and activate the plugins that wait for the first use of a primitive, since they have rules for it."""

    def load_owner(self, made: Any) -> bool:
        """Register the plugin that made a primitive or class, before others extend it; True if another made it."""

    def load_family_with(self, name: str) -> None:
        """Register the waiting family that has a primitive of this name, if there is one."""

    def import_builtin(self, name: str) -> None:
        """Import a built-in plugin."""

    def request(self, what: str, name: str | None) -> None:
        """Let the next `load` activate plugins that wait with an entry, not a rule, of this kind and name."""

    def may_enter(self, what: str, key: Any) -> bool:
        """Whether the calling code may write an entry, not a rule, of a table; loads the plugin of a class first."""

    def entered(self, what: str, key: Any) -> None:
        """Report a new entry, not a rule, which a waiting plugin may replace."""

    def suppliers(self, primitive: Any, kind: str) -> list[str]:
        """Lines for a message: the plugins that could supply a missing rule of a primitive."""

    def writer(self) -> str:
        """The installed plugin whose code writes to a table: it registers, or has the calling line; empty if none."""

    def may_replace(self, what: str, owner: str | None, current: Any) -> bool:
        """Whether the calling code may replace a plugin's entry; False if another plugin's replacement has priority.

        Raises:
          PluginError: the code belongs to an installed plugin without consent.
        """


class NoPlugins:
    """A kernel without a plugin host."""

    def __init__(self) -> None:
        self.changes = 0

    def suppliers(self, primitive: Any, kind: str) -> list[str]:
        return []

    def may_replace(self, *args: Any) -> bool:
        return True

    def _nothing(self, *args: Any, **named: Any) -> Any:
        return None

    may_enter = may_replace
    load = load_owner = writer = _nothing
    discover = complete = load_family_with = request = entered = import_builtin = _nothing


loader: PluginLoader = NoPlugins()


def load_plugins(everything: bool = False) -> bool:
    """Activate the plugins that programs may need, or all; True if this call activated some."""
    return loader.load(everything)


impl_rules = RuleTable("impl", "(*args, **params) -> array or list", optional=True)
abstract_eval_rules = RuleTable("abstract_eval", "(*avals, **params) -> aval or list", optional=True)
effectful_abstract_eval_rules = RuleTable(
    "effectful_abstract_eval", "(*avals, **params) -> (avals, effects)", optional=True
)
jvp_rules = RuleTable("jvp", "(primals, tangents, **params) -> (primal_out, tangent_out)")
transpose_rules = RuleTable("transpose", "(cotangent, *args, **params) -> one cotangent or None per argument")
batch_rules = RuleTable("batch", "(args, dims, **params) -> (out, dim)")
axis_batch_rules = RuleTable("axis_batch", "(axis_data, args, dims, **params) -> (out, dim)")
lowering_rules = RuleTable("lowering", "(ctx, *ir_values, **params) -> ir values")
partial_eval_rules = RuleTable(
    "partial_eval", "(trace, args, params) -> list of values", optional=True, experimental=True
)
partial_eval_jaxpr_rules = RuleTable(
    "partial_eval_jaxpr",
    "(unknown_in, eqn) -> (known eqn or eqns, unknown eqn, unknown_out)",
    optional=True,
    experimental=True,
)
dce_rules = RuleTable("dce", "(used_outputs, eqn) -> (used_inputs, eqn or None)", optional=True)
staging_rules = RuleTable("staging", "(trace, args, params) -> list of tracers", optional=True)
check_rules = RuleTable("check", "(context, *in_atoms, **params) -> (out avals, effects)")
print_rules = RuleTable("print", "(params) -> the params to print, in order, or a PrintedCall")
named_axes_rules = RuleTable("named_axes", "(**params) -> names of axes", optional=True)
variance_rules = RuleTable(
    "variance", "(*avals, **params) -> for each operand the mesh axes that it must vary along", optional=True
)
sharding_rules = RuleTable(
    "sharding",
    "(*avals, **params) -> a text such as 'i k:sum, k j -> i j'",
    "without one it is computed whole on every device",
    optional=True,
    late=True,
)
close_over_rules = RuleTable("close_over", "(args, params) -> (args, params)", optional=True)
interpret_rules = RuleTable("interpret", "(interpreter, eqn, *values) -> value, or list of values", optional=True)
key_use_rules = RuleTable("key_use", "(uses, eqn, walk) -> one record per result", optional=True, late=True)
makes_nan_rules = RuleTable(
    "makes_nan", "(eqn) -> whether it may return NaN for other operands", "True alone stands for always", optional=True
)
discharge_rules = _DischargeTable(
    "discharge", "(refs, *args, **params) -> (outs, new contents of references by position)", optional=True
)
makes_nan_rules.of_value[bool] = lambda always: lambda eqn: always

rule_tables: dict[str, RuleTable] = {x.kind: x for x in list(globals().values()) if isinstance(x, RuleTable)}


def new_rule_table(
    kind: str,
    signature: str,
    *,
    remedy: str = "",
    optional: bool = False,
    check: Callable[[Rule, Any, Any, Mapping[str, Any]], object] | None = None,
) -> RuleTable:
    """A table for the rules of a new transformation, which plugins fill by `registry.define(p, kind=rule)`.

    Args:
      kind: the name of the kind, an identifier that no other table has.
      signature: the arguments and results of the rules, in words for messages.
      remedy: another remedy for a missing rule, a sentence for messages.
      optional: whether the transformation has a default for a missing rule.
      check: `(rule, primitive, args, params)`: a function that `primax check` calls for each rule of the kind, with
        each sample of its primitive: NumPy arrays and parameters. It raises an error, such as an AssertionError, if
        the rule is wrong.

    Raises:
      TypeError: `kind` is not an identifier, or `check` is not a function.
      PluginError: there is a table of this kind already.
    """
    if not isinstance(kind, str) or not kind.isidentifier():
        raise TypeError(f"new_rule_table: kind must be an identifier, got {kind!r}")
    if check is not None and not callable(check):
        raise TypeError(f"new_rule_table: check must be a function (rule, primitive, args, params), got {check!r}")
    with lock:
        if kind in rule_tables:
            raise PluginError(f"new_rule_table: there is a table of {kind} rules already")
        undo_log.put(rule_tables, kind, RuleTable(kind, signature, remedy, optional=optional, check=check))
        rule_tables[kind].module = author().module
        loader.changes += 1
        return rule_tables[kind]


def rules_of(primitive: Any) -> dict[str, Provenance]:
    """The kinds of rules that `primitive` has, with their provenance."""
    sources = {kind: table.provenance[primitive] for kind, table in rule_tables.items() if primitive in table}
    for key, provenance in lowering_rules.provenance.items():
        if isinstance(key, tuple) and key[0] is primitive:
            sources[f"lowering[{key[1]}]"] = provenance
    return sources


def missing_error(table: RuleTable, primitive: Any) -> type[MissingRuleError]:
    """The class of the error about a missing rule: `UnsupportedError` if it is declared not to exist."""
    return UnsupportedError if primitive in table.unsupported else MissingRuleError


def explain_missing(
    table: RuleTable, primitive: Any, asked: str = "", hint: str = "", source: Any = None, *, bound: bool = True
) -> str:
    """The message about a missing rule, with the existing rules and remedies; see `missing_text`."""
    hints = [*([hint] if hint else ()), *loader.suppliers(primitive, table.kind)]
    return missing_text(table, primitive, rules_of(primitive), hints, asked=asked, source=source, bound=bound)
