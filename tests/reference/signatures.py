"""Signatures: the calls of objects, with links from the types in them to the reference."""

from __future__ import annotations

import html
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ForwardRef

from reference.linking import relative
from reference.names import Entry, entries

Mark = Callable[[str], str]  # HTML of the text of a type
_WIDTH = 88
_SIMPLE = re.compile(r"ForwardRef\('([^']*)'(?:, [^()]*)?\)")
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_][\w.]*\w|[A-Za-z_]")
_FORMS = (types.UnionType, types.GenericAlias, type(typing.Union[int, str]), type(typing.List[int]))  # noqa: UP006, UP007
_ELSEWHERE = ("builtins", "collections", "numpy", "typing")  # their classes have documentation of their own


def signature(name: str, value: Any, *, method: bool = False, wide: bool = False, mark: Mark | None = None) -> str:
    """The call of an object with the types of its parameters and of its result; empty if Python knows none.

    Args:
      name: what is called.
      value: the object.
      method: whether its first parameter is left out.
      wide: whether the call is one line, without types.
      mark: makes HTML of types; without it the call is plain text.
    """
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = list(found.parameters.values())
    if method and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    if wide:
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        return f"{name}({', '.join(map(_shown, _parameters(plain)))})"
    parts = list(_parameters(parameters))
    no_result = inspect.isclass(value) or found.return_annotation is inspect.Signature.empty
    returns = ("", "", "") if no_result else (" -> ", type_text(found.return_annotation), "")
    fits = len(f"{name}({', '.join(_shown(part) for part in parts)}){_shown(returns)}") <= _WIDTH
    shown = [_shown(part, mark) for part in parts]
    head, tail = f'<span class="nf">{name}</span>' if mark else name, _shown(returns, mark)
    if fits:
        return f"{head}({', '.join(shown)}){tail}"
    return "\n".join([f"{head}(", *(f"    {part}," for part in shown), f"){tail}"])


def _shown(part: tuple[str, str, str], mark: Mark | None = None) -> str:
    """What stands before a type, the type, and what stands after it."""
    before, kind, after = part
    return f"{escaped(before)}{mark(kind)}{escaped(after)}" if mark else f"{before}{short(kind)}{after}"


def escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[tuple[str, str, str]]:
    """The parameters in three parts as they are written in a definition, with the marks between their kinds."""
    kinds = inspect.Parameter
    seen: set[Any] = set()
    for i, parameter in enumerate(parameters):
        if parameter.kind is kinds.KEYWORD_ONLY and not seen & {kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL}:
            yield "*", "", ""
        seen.add(parameter.kind)
        name = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(parameter.kind, "") + parameter.name
        typed = parameter.annotation is not kinds.empty
        default = "" if parameter.default is kinds.empty else _default(parameter.default)
        equals = (" = " if typed else "=") if default else ""
        yield f"{name}: " * typed or name, type_text(parameter.annotation) if typed else "", f"{equals}{default}"
        last = i + 1 == len(parameters) or parameters[i + 1].kind is not kinds.POSITIONAL_ONLY
        if parameter.kind is kinds.POSITIONAL_ONLY and last:
            yield "/", "", ""


def type_text(annotation: Any) -> str:
    """A type as text."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    if inspect.isclass(annotation) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return _SIMPLE.sub(r"\1", str(annotation))


def short(text: str) -> str:
    """The text of a type without modules, as programs write it."""
    text = re.sub(r"\b(?:typing|collections\.abc|primax(?:\.\w+)*)\.(?=\w)", "", text)
    return re.sub(r"\bnumpy\.(?=\w)", "np.", text)


def _default(value: Any) -> str:
    if inspect.isroutine(value) or inspect.isclass(value):
        return getattr(value, "__name__", "...")
    text = repr(value)
    return "..." if " at 0x" in text or "\n" in text or len(text) > 60 else text


def marker(page: str, user: Any, itself: Entry | None = None) -> Mark:
    """A function that makes HTML of a type, with links from names to the reference.

    Args:
      page: the page that shows the type.
      user: the function or the class whose annotation it is, or the module that has the type.
      itself: what the page describes there; its name is no link.
    """

    def link(token: re.Match[str]) -> str:
        entry = named(token[0], user)
        if entry is None or entry is itself or not entry.page:
            return escaped(short(token[0]))
        place = relative(f"{entry.page}#{entry.path}", page).replace(".md#", ".html#")
        return f'<a href="{place}">{short(token[0])}</a>'

    def mark(kind: str) -> str:
        parts = []
        end = 0
        for token in _TOKEN.finditer(kind):
            parts += [escaped(kind[end : token.start()]), link(token)]
            end = token.end()
        return "".join([*parts, escaped(kind[end:])])

    return mark


def named(name: str, user: Any) -> Entry | None:
    """The public type that a name means in an annotation of a function or class.

    The same name means different types in different modules, so the object counts. A type that is imported for type
    checkers alone is found by its name, if only one has it.
    """
    home, _, last = name.rpartition(".")
    candidates = _types().get(last, [])
    if not candidates:
        return None
    try:
        found = vars(sys.modules[home])[last] if home in sys.modules else eval(name, _globals(user))
    except Exception:  # the name is not there when the program runs
        return candidates[0] if len(candidates) == 1 else None
    for entry in candidates:
        same = entry.value is found or (isinstance(found, _FORMS) and entry.value == found)
        if same or (inspect.isclass(found) and inspect.isclass(entry.value) and issubclass(entry.value, found)):
            return entry
    return None


def _globals(user: Any) -> dict[str, Any]:
    if inspect.ismodule(user):
        return vars(user)
    function = inspect.unwrap(user) if callable(user) else user
    found = getattr(function, "__globals__", None)
    return found if isinstance(found, dict) else vars(sys.modules[getattr(function, "__module__", None) or "builtins"])


def is_form(value: Any) -> bool:
    """Whether an object is an alias of a type that is no class, such as a union."""
    return isinstance(value, _FORMS)


@cache
def _types() -> dict[str, list[Entry]]:
    """The public classes and aliases of types, by each of their names."""
    found: dict[str, list[Entry]] = {}
    for path, entry in entries().items():
        names = {path.rpartition(".")[2]}
        if not is_form(entry.value):
            if not inspect.isclass(entry.value) or entry.value.__module__.partition(".")[0] in _ELSEWHERE:
                continue
            names.add(entry.value.__name__)
        for name in names:
            if all(entry is not other for other in found.setdefault(name, [])):
                found[name].append(entry)
    return found
