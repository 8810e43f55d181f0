"""The text of jaxprs, in jax's notation."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from primax.core import rules
from primax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    formatter,
    holds_program,
    jaxprs_in_params,
    opened,
)
from primax.core.recursion import raised_recursion_limit
from primax.core.source_info import scope_of, user_frame
from primax.core.text.line_breaking import (
    BREAK,
    CLOSE,
    DEDENT,
    EMPTY_BREAK,
    EQUATION_BREAK,
    FILL,
    INDENT,
    OPEN,
    Note,
    Token,
    lay_out,
)


class PrintedCall(NamedTuple):
    """The call of a program: a possible result of a print rule.

    Attributes:
      params: the parameters to print, in order.
      program: the program; its arguments and results are printed with the names of the equation's operands and results.
    """

    params: dict[str, Any]
    program: Jaxpr | ClosedJaxpr


class PrintedEquation(NamedTuple):
    """A text in place of an equation: a possible result of a print rule.

    Attributes:
      text: takes the texts of the results and of the operands, and returns that of the equation. The texts of results
        that nothing reads begin with an underscore.
    """

    text: Callable[[Sequence[str], Sequence[str]], str]


def shown_params(eqn: JaxprEqn) -> dict[str, Any] | PrintedCall:
    """The parameters of an equation to print: those that its print rule returns, or else all, sorted by name."""
    rule = rules.print_rules.functions.get(eqn.primitive)
    shown = None if rule is None else rule(eqn.params)
    if shown is not None and not isinstance(shown, PrintedEquation):
        return shown  # type: ignore[no-any-return]
    return {name: eqn.params[name] for name in sorted(eqn.params)}


_HOISTED_FROM: Final = 11
_ADDRESS: Final = r" at 0x([0-9a-fA-F]+)"


class Shown(NamedTuple):
    """Options for the text of a program.

    Attributes:
      source_info: whether each equation ends in a comment with its line in the user's program.
      name_stack: whether each equation ends in a comment with its named scopes.
      print_shapes: whether variables have types where they are bound.
      print_rules: whether print rules select the parameters of equations.
      print_effects: whether each program ends in its effects.
    """

    source_info: bool = False
    name_stack: bool = False
    print_shapes: bool = True
    print_rules: bool = True
    print_effects: bool = False


def jaxpr_to_text(jaxpr: Jaxpr | ClosedJaxpr, *, width: int = 80, **shown: bool) -> str:
    """A program in jax's notation.

    Args:
      jaxpr: the program.
      width: the number of columns to fill.
      shown: the attributes of `Shown`.

    Returns:
      The text. Inner programs that occur more than once, or are long, come first and have names.
    """
    return lay_out(_tokens_of_program(opened(jaxpr), Shown(**shown)).tokens, width)


def eqn_to_text(eqn: JaxprEqn, names: Mapping[Var, str] | None = None, *, width: int = 80) -> str:
    """An equation in jax's notation, with the given names of variables, or with new ones."""
    writer = _Writer(_Names(names or {}))
    writer.equation(eqn)
    return lay_out(writer.tokens, width).rstrip()


def atom_to_text(atom: Atom, names: Mapping[Var, str]) -> str:
    """A variable by its name, a literal with its type."""
    return _Writer(_Names(names)).atom(atom)


def name_vars(jaxpr: Jaxpr | ClosedJaxpr) -> dict[Var, str]:
    """The names of the variables of a program and of its inner programs in its text."""
    return _tokens_of_program(opened(jaxpr), Shown()).names.known


def _tokens_of_program(jaxpr: Jaxpr, shown: Shown) -> _Writer:
    shared = _shared(jaxpr)
    names = _Names(dict.fromkeys(_unread(jaxpr), "_"), frozenset(shared.values()))
    writer = _Writer(names, shared, shown)
    for program, name in shared.items():
        writer.put(f"let {name} = ")
        writer.program(program)
        writer.put(" in")
        writer.put(BREAK)
    writer.program(jaxpr)
    return writer


def _unread(jaxpr: Jaxpr) -> Iterator[Var]:
    """The results that no equation and no output reads."""
    read = {v for v in jaxpr.outvars if type(v) is not Literal}
    for eqn in jaxpr.eqns:
        read.update(v for v in eqn.invars if type(v) is not Literal)
    return (v for eqn in jaxpr.eqns for v in eqn.outvars if v not in read)


def _shared(root: Jaxpr) -> dict[Jaxpr, str]:
    """The programs inside `root` that are printed before it, with unique names."""
    occurrences: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    pending = deque([root])
    while pending:
        jaxpr = pending.popleft()
        occurrences[jaxpr] += 1
        if occurrences[jaxpr] > 2:
            continue  # its inner programs occur twice, too
        for eqn in jaxpr.eqns:
            if eqn.params:
                name = eqn.params.get("name")
                for sub in jaxprs_in_params(eqn.params):
                    pending.append(sub)
                    if isinstance(name, str):
                        names.setdefault(sub, name.strip("<>"))
    shared: dict[Jaxpr, str] = {}
    taken: set[str] = set()
    for jaxpr, times in occurrences.items():
        if jaxpr is not root and (times > 1 or len(jaxpr.eqns) >= _HOISTED_FROM):
            name = names.get(jaxpr, "jaxpr")
            shared[jaxpr] = next(unused for i in count() if (unused := f"{name}{i}" if i else name) not in taken)
            taken.add(shared[jaxpr])
    return shared


class _Names:
    """Names for variables, assigned in the order of the requests."""

    def __init__(self, known: Mapping[Var, str], taken: Iterable[str] = ()) -> None:
        self.known = dict(known)
        self._taken = {*taken, *self.known.values()}
        self._next = 0

    def __call__(self, var: Var) -> str:
        name = self.known.get(var)
        if name is None:
            if type(var) is DropVar:
                return "_"
            name = self.known[var] = self._fresh()
        return name

    def _fresh(self) -> str:
        while True:
            n = self._next
            self._next += 1
            n, digit = divmod(n, 26)
            name = chr(97 + digit)
            while n:
                n, digit = divmod(n, 26)
                name = chr(97 + digit) + name
            if name not in self._taken:
                return name

    def alias(self, inner: Sequence[Atom], outer: Sequence[Atom]) -> None:
        """Give the variables of an inner program the names of the corresponding outer ones."""
        if len(inner) != len(outer):
            return
        used: set[Atom] = set()
        for v, like in zip(inner, outer, strict=True):
            if isinstance(v, Var) and isinstance(like, Var) and like not in used and v not in self.known:
                used.add(like)
                self.known[v] = self(like)


class _Writer:
    """Converts programs to the tokens of a layout."""

    def __init__(self, names: _Names, shared: Mapping[Jaxpr, str] | None = None, shown: Shown | None = None) -> None:
        self.names = names
        self.tokens: list[Token] = []
        self.put = self.tokens.append
        self._shared = shared or {}
        self._shown = shown or Shown()
        self._types: dict[Any, str] = {}

    def program(self, jaxpr: Jaxpr) -> None:
        put = self.put
        put(OPEN)
        put(INDENT)
        put("{ lambda ")
        self._variables(map(self._binder, jaxpr.constvars))
        put("; ")
        self._variables(map(self._binder, jaxpr.invars))
        put(". let")
        put(INDENT)
        put(BREAK)
        for i, eqn in enumerate(jaxpr.eqns):
            if i:
                put(EQUATION_BREAK)
            self.equation(eqn)
        put(DEDENT)
        put(BREAK)
        put("in (")
        self._variables(map(self.atom, jaxpr.outvars), ",")
        put(",)" if len(jaxpr.outvars) == 1 else ")")
        if self._shown.print_effects:
            put(f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}")
        put(DEDENT)
        put(" }")
        put(CLOSE)

    def equation(self, eqn: JaxprEqn) -> None:
        put = self.put
        params = eqn.params
        if params:
            if self._shown.print_rules and eqn.primitive.mutable_operands:
                rule = rules.print_rules.functions.get(eqn.primitive)
                shown = rule and rule(params)
                if isinstance(shown, PrintedEquation):
                    note = self._note(eqn)
                    put(shown.text([*map(self._binder, eqn.outvars)], [*map(self.atom, eqn.invars)]))
                    if note:
                        put(Note(note))
                    return
            params = self._shown_params(eqn)
        self._variables(map(self._binder, eqn.outvars))
        if eqn.outvars:
            put(" = ")
        note = self._note(eqn)
        if note:
            put(Note(note))
        put(str(eqn.primitive))
        if params:
            self._parameters(params)
        put(" ")
        self._variables(map(self.atom, eqn.invars))

    def _note(self, eqn: JaxprEqn) -> str:
        """The text of the comment at the end of an equation."""
        frame = user_frame(eqn.source_info) if self._shown.source_info else None
        scope = scope_of(eqn.source_info) if self._shown.name_stack else ""
        return " ".join([*([str(frame)] if frame else []), *([f"[{scope}]"] if scope else [])])

    def _shown_params(self, eqn: JaxprEqn) -> dict[str, Any]:
        if not self._shown.print_rules:
            return {name: eqn.params[name] for name in sorted(eqn.params)}
        shown = shown_params(eqn)
        if isinstance(shown, PrintedCall):
            jaxpr = opened(shown.program)
            if jaxpr not in self._shared:
                self.names.alias(jaxpr.invars, eqn.invars)
                self.names.alias(jaxpr.outvars, eqn.outvars)
            return shown.params
        return shown

    def _parameters(self, params: dict[str, Any]) -> None:
        put = self.put
        put(OPEN)
        put(INDENT)
        put("[")
        between = EMPTY_BREAK
        for name, value in params.items():
            put(between)
            between = BREAK
            put(f"{name}=")
            self._value(value)
        put(DEDENT)
        put(EMPTY_BREAK)
        put("]")
        put(CLOSE)

    def _value(self, value: Any) -> None:
        put = self.put
        if isinstance(value, Jaxpr | ClosedJaxpr):
            self._held(opened(value))
        elif holds_program(value):
            opening, closing = "()" if isinstance(value, tuple) else "[]"
            put(OPEN)
            put(INDENT)
            put(opening)
            between = EMPTY_BREAK
            for item in value:
                put(between)
                between = BREAK
                self._value(item)
            put(DEDENT)
            put(EMPTY_BREAK)
            put(closing)
            put(CLOSE)
        elif isinstance(value, frozenset):
            put(f"frozenset({{{', '.join(sorted(map(repr, value)))}}})")
        else:
            put(re.sub(_ADDRESS, lambda match: " at 0x" + "X" * len(match[1]), str(value)))

    def _held(self, jaxpr: Jaxpr) -> None:
        name = self._shared.get(jaxpr)
        if name is not None:
            self.put(name)
            return
        with raised_recursion_limit():
            self.program(jaxpr)

    def _variables(self, texts: Iterable[str], separator: str = "") -> None:
        put = self.put
        first = True
        put(INDENT)
        for text in texts:
            if not first:
                if separator:
                    put(separator)
                put(FILL)
            first = False
            put(text)
        put(DEDENT)

    def _binder(self, var: Var) -> str:
        name = self.names(var)
        return f"{name}:{self._type(var.aval)}" if self._shown.print_shapes else name

    def atom(self, atom: Atom) -> str:
        if type(atom) is not Literal:
            return self.names(atom)  # type: ignore[arg-type]
        value = _literal(atom.val)
        return value if getattr(atom.aval, "dtype", None) is None else f"{value}:{self._type(atom.aval)}"

    def _type(self, aval: Any) -> str:
        text = self._types.get(aval)
        if text is None:
            text = self._types[aval] = aval.str_short()
        return text


def _literal(value: Any) -> str:
    if type(value) in (float, int, bool, complex):
        return str(value)
    return "[...]" if np.shape(value) else str(np.asarray(value).item())


_KEYWORD: Final = r"(?<=\{ )lambda(?= )|(?<=\. )let(?=\s)|(?<=[\s;])in(?= \()"
_TYPE: Final = r":[a-z]\w*(?:<\w+>)?\[[^\]\s]*\](?:\{[^}]*\})?"


def _colored(text: str) -> str:
    """A text with its keywords in bold blue and its types in magenta."""
    text = re.sub(_TYPE, lambda match: f"\x1b[35m{match[0]}\x1b[39m", text)
    return re.sub(_KEYWORD, lambda match: f"\x1b[34;1m{match[0]}\x1b[39;22m", text)


formatter.jaxpr, formatter.eqn, formatter.colored = jaxpr_to_text, eqn_to_text, _colored
