"""The boundaries of the public API: functions that shorten the tracebacks of exceptions which leave them.

A boundary costs nothing until an exception leaves it. It is not a wrapper: the compiled code of the function itself
ends in a handler, as of a `try` around the whole body, which runs only for exceptions.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["api_boundary", "mark_definitions", "mark_modules"]

_T = TypeVar("_T")

# Functions that users call without a public name: operators, methods, and results of functions.
_UNNAMED = {
    "core.operand": "Operand",
    "core.option": "Option",
    "core.primitive": "Primitive",
    "core.rules": "RuleTable",
    "core.trace": "Tracer",
    "core.tree.partial": "Partial",
    "extend.host.registry": "Registry",
    "interpreters.pullback": "Pullback Pushforward",
    "interpreters.runtime.array": "Array",
    "interpreters.runtime.extended_array": "ExtendedArray",
    "interpreters.runtime.fast_dispatch": "direct_call",
    "numpy.at": "At Reference",
}
# Not public, or called by authors of plugins inside of rules, which other boundaries surround.
_INNER = ("primax.core.", "primax.interpreters.", "primax.plugins.", "primax.porting.", "primax.extend.")
# The functions that these authors call outside of rules.
_OF_AUTHORS = frozenset(
    f"primax.extend.{name}"
    for name in "decomposition definition derive drawing ffi interpreter records transfer".split()
)


# An entry of a table of exceptions: the first of some instructions, their end, the first of the handler to which their
# exceptions go, and the depth of the stack there with a bit that says whether it also gets the place of the exception.
# Places count units of two bytes.
_Entry = tuple[int, int, int, int]


def _entries(table: bytes) -> Iterator[_Entry]:
    """Decode a table of exceptions; Python 3.11 to 3.13 write it in this way."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(value)
            value = 0
    for start, size, handler, stack in zip(*[iter(numbers)] * 4, strict=True):
        yield start, start + size, handler, stack


@functools.cache
def _number(value: int) -> bytes:
    """Encode a number in groups of six bits, the highest first; 0x40 says that more follow."""
    groups = [value & 0x3F]
    while value := value >> 6:
        groups.append(value & 0x3F | 0x40)
    return bytes(reversed(groups))


def _entry(start: int, stop: int, handler: int, stack: int) -> bytes:
    """Encode an entry, which 0x80 begins."""
    first = _number(start)
    return b"%c%b%b%b%b" % (first[0] | 0x80, first[1:], _number(stop - start), _number(handler), _number(stack))


def _compiled_handler() -> tuple[bytes, bytes, list[_Entry], int]:
    """A handler that calls a function and raises the exception again, as this release of Python compiles it.

    Returns:
      its instructions before and after the one that loads the function, its own entries of the table, with places that
      count from its start, and the size of the stack that it needs.
    """

    def template(function: Any) -> None:
        try:
            function()
        except:
            function()
            raise

    code = template.__code__
    (*_, first, _), *others = _entries(code.co_exceptiontable)
    *_, load = [place.offset for place in dis.get_instructions(code) if place.opname.startswith("LOAD_FAST")]

    def moved(place: int) -> int:
        """A place in the handler, in which two instructions load the function."""
        return place - first + (2 * place > load)

    entries = [(moved(start), moved(stop), moved(handler), stack) for start, stop, handler, stack in others]
    return code.co_code[2 * first : load], code.co_code[load + 2 :], entries, code.co_stacksize


# Releases on which no test has run may have another format of code, and wrong code ends the process. There, functions
# stay as they are, and tracebacks show all lines.
_known = sys.version_info[:2] <= (3, 13)
_before, _after, _own_entries, _stack_size = _compiled_handler() if _known else (b"", b"", [], 0)
_EXTENDED_ARG, _LOAD_CONST = dis.opmap["EXTENDED_ARG"], dis.opmap["LOAD_CONST"]
_NO_LINE = 0x80 | 15 << 3  # the kind of an entry of the table of lines; the lowest bits are a number of units, less one
_FUNCTION = 0x01 | 0x02  # code of functions, and not of classes
_SUSPENDED = 0x20 | 0x80 | 0x200  # code of generators and coroutines, which return before they run


_units = (len(_before) + len(_after)) // 2 + 2
_lines = bytes([_NO_LINE | 7] * (_units // 8) + [_NO_LINE | units - 1 for units in [_units % 8] if units])


def _extended(table: bytes, end: int) -> bytes:
    """A table of exceptions that sends all exceptions without a handler to the one at the end of the code."""
    extended = []
    covered = 0
    for start, stop, handler, stack in _entries(table):
        if covered < start:
            extended.append(_entry(covered, start, end, 0))
        extended.append(_entry(start, stop, handler, stack))
        covered = stop
    if covered < end:
        extended.append(_entry(covered, end, end, 0))
    extended += [_entry(start + end, stop + end, handler + end, stack) for start, stop, handler, stack in _own_entries]
    return b"".join(extended)


def _with_handler(code: CodeType) -> CodeType:
    """The code of a function with the handler at its end, and likewise the code of functions that it defines."""
    consts = code.co_consts
    if any(type(value) is CodeType for value in consts):
        consts = tuple([_with_handler(value) if type(value) is CodeType else value for value in consts])
    flags = code.co_flags
    name = code.co_name
    if flags & _FUNCTION != _FUNCTION or flags & _SUSPENDED or (name[0] == "<" and name != "<lambda>"):
        return code.replace(co_consts=consts)
    instructions = code.co_code
    high, low = divmod(len(consts), 256)
    return code.replace(
        co_code=b"%b%b%b" % (instructions + _before, bytes((_EXTENDED_ARG, high, _LOAD_CONST, low)), _after),
        co_consts=(*consts, leave),
        co_exceptiontable=_extended(code.co_exceptiontable, len(instructions) // 2),
        co_linetable=code.co_linetable + _lines,
        co_stacksize=max(code.co_stacksize, _stack_size),
    )


def leave() -> None:
    """Shorten the traceback of the exception that is handled, which leaves the calling function."""
    import_module("primax.extend.provisional.tracebacks").leave(sys._getframe(1))


def api_boundary(value: _T) -> _T:
    """Make a function of primax a boundary, and the functions that it defines; for a class, its methods.

    Args:
      value: a function, class or instance, which is changed and returned; those of other packages stay unchanged.
    """
    if not _known:
        return value
    if isinstance(value, FunctionType):
        code = value.__code__
        if not (code.co_consts and code.co_consts[-1] is leave) and _is_own(str(value.__globals__.get("__name__"))):
            value.__code__ = _with_handler(code)
        if hasattr(value, "__wrapped__"):
            api_boundary(value.__wrapped__)
        return value
    if isinstance(value, type) and value not in _marked and _is_own(value.__module__):
        _marked.add(value)
        for attribute in list(vars(value).values()):
            _mark_attribute(attribute)
        for base in value.__bases__:
            api_boundary(base)
    if isinstance(value, functools.partial):  # ufuncs
        api_boundary(value.func)
    if _is_own(type(value).__module__):
        api_boundary(type(value))
    return value


_marked: WeakSet[type] = WeakSet()


def _mark_attribute(attribute: Any) -> None:
    """Make an attribute of a class a boundary: a method, or the functions of a property."""
    if isinstance(attribute, FunctionType):
        api_boundary(attribute)
    elif isinstance(attribute, property):
        for function in (attribute.fget, attribute.fset, attribute.fdel):
            api_boundary(function)
    elif isinstance(attribute, staticmethod | classmethod):
        api_boundary(attribute.__func__)


def _is_own(module: str) -> bool:
    return module == "primax" or module.startswith("primax.")


def _defines(module: ModuleType, value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and value.__module__ == module.__name__


def _mark(module: ModuleType) -> None:
    """Make the public functions of a module boundaries, and the methods of its classes, whose objects users get.

    The functions of a module that defines none itself are changed when they are first used.
    """
    namespace = vars(module)
    names = [name for name in namespace.get("__all__", ()) if name in namespace]
    if any(_defines(module, value, FunctionType) for name, value in namespace.items() if not name.startswith("__")):
        for value in list(namespace.values()):
            if _defines(module, value, type):
                api_boundary(value)
    else:
        waiting = {name: namespace[name] for name in names if isinstance(namespace[name], FunctionType)}
        namespace["__getattr__"] = _first_use(module, waiting, namespace.get("__getattr__"))
        for name in waiting:
            del namespace[name]
    for name in (*names, "__getattr__"):
        value = namespace.get(name)
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{module.__name__}."):
            _mark(value)  # imported by the package
        else:
            api_boundary(value)


def _first_use(
    module: ModuleType, waiting: dict[str, FunctionType], earlier: Callable[[str], Any] | None
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that makes functions boundaries when they are first used."""

    def get(name: str) -> Any:
        if name in waiting:
            value = vars(module)[name] = api_boundary(waiting[name])
            return value
        if earlier is not None:
            return earlier(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return get


def _mark_unnamed() -> None:
    """Make functions that users call without a public name boundaries, as far as they were imported.

    A module that another thread is importing is marked after its import.
    """
    for name, values in _UNNAMED.items():
        module = sys.modules.get(f"primax.{name}")
        for value in values.split() if module is not None else ():
            api_boundary(vars(module).get(value))


def mark_definitions(name: str) -> None:
    """Make all functions and classes of a module boundaries: users get the results of these functions.

    Args:
      name: the name of a module that was imported.
    """
    module = sys.modules.get(name)
    if module is not None:
        for value in list(vars(module).values()):
            if _defines(module, value, FunctionType | type):
                api_boundary(value)
    _mark_unnamed()


def _is_public(name: str) -> bool:
    return name.startswith("primax.") and (name in _OF_AUTHORS or not name.startswith(_INNER))


class _Finder:
    """Finds the modules of the public API, and marks their functions as soon as they have run."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not _is_public(name):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            is_part = name.rpartition(".")[0] in _executing  # of a package that offers its functions
            _executing.append(name)
            try:
                execute(module)
            finally:
                _executing.remove(name)
            if not is_part:
                _mark(module)
                _mark_unnamed()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_executing: list[str] = []


def mark_modules() -> None:
    """Mark the functions of `primax`, and of each public module that is imported from now on."""
    if not _known:
        return
    _mark_unnamed()
    for name in {"primax", *_OF_AUTHORS}.intersection(sys.modules):
        _mark(sys.modules[name])
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
