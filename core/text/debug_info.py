"""Information about the function that a program was traced from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

from primax.core import tree
from primax.core.arguments import name_of
from primax.core.pickling import pickled

Names = tuple[str, ...] | None


class DebugInfo(str):
    """Information about a function for messages and programs; a string, which is the function's name.

    Attributes:
      traced_for: the name of the transformation, such as `"jit"`.
      func_src_info: its name, followed by its file and line if they are known.
      arg_names: a name for each leaf of its arguments; None if they are not known.
      result_paths: a name for each leaf of its results; None if they are not known.
    """

    __slots__ = ("_arg_names", "_result_paths", "func_src_info", "traced_for")

    traced_for: str
    func_src_info: str
    _arg_names: Names | Callable[[], Names]
    _result_paths: Names | Callable[[], Names]

    def __new__(
        cls,
        traced_for: str,
        func_src_info: str,
        arg_names: Names | Callable[[], Names] = None,
        result_paths: Names | Callable[[], Names] = None,
    ) -> DebugInfo:
        self = super().__new__(cls, func_src_info.partition(" at ")[0])
        self.traced_for = traced_for
        self.func_src_info = func_src_info
        self._arg_names = arg_names
        self._result_paths = result_paths
        return self

    @property
    def arg_names(self) -> Names:
        names = self._arg_names
        if callable(names):
            self._arg_names = names = names()
        return names

    @property
    def result_paths(self) -> Names:
        paths = self._result_paths
        if callable(paths):
            self._result_paths = paths = paths()
        return paths

    @property
    def func_name(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"DebugInfo({self.func_src_info}, traced for {self.traced_for})"

    def __reduce__(self) -> Any:
        fields = self.traced_for, self.func_src_info, self.arg_names, self.result_paths
        return pickled("primax.extend.core:DebugInfo", *fields)


def source_of(fun: Callable[..., Any], name: str | None = None) -> str:
    """The name of a function, followed by its file and line if they are known."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    where = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    return (name or name_of(fun)) + where


def program_info(
    traced_for: str,
    fun: Callable[..., Any],
    in_tree: Any,
    out_trees: list[Any],
    static: Collection[int] = (),
    name: str | None = None,
) -> DebugInfo:
    """The debug information of a traced program; the names of leaves are computed on demand.

    Args:
      traced_for: the name of the transformation.
      fun: the function; the information holds no reference that keeps it alive.
      in_tree: the structure of its dynamic arguments and keywords.
      out_trees: holds the structure of its result, as soon as the function has been traced.
      static: the positions of static arguments.
      name: the name of the function, if it is known.
    """
    return DebugInfo(
        traced_for,
        source_of(fun, name),
        argument_names(fun, in_tree, static),
        lambda: _leaf_names([("result", tree.unflatten(t, range(t.num_leaves))) for t in out_trees[:1]]),
    )


def argument_names(fun: Callable[..., Any], in_tree: Any, static: Collection[int] = ()) -> Callable[[], Names]:
    """Computes the names of the leaves of a call; holds no reference that keeps the function alive."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    bound = inspect.ismethod(fun)
    return lambda: None if code is None else _argument_names(code, bound, in_tree, static)


def places(
    args: Any, fun: Any = None, argument: str = "argument", call: bool = True, static: Collection[int] = ()
) -> list[str]:
    """Names for the leaves of a call of a function in messages, by the names of its parameters if they are known."""
    names = fun and argument_names(fun, tree.flatten(args)[1], static)()
    if names:
        return [f"{argument} {name}" for name in names]
    return [argument + tree.keystr(path[1:] if call else path) for path, _ in tree.tree_leaves_with_path(args)]


def _argument_names(code: Any, bound: bool, in_tree: Any, static: Collection[int]) -> tuple[str, ...]:
    args, kwargs = tree.unflatten(in_tree, range(in_tree.num_leaves))
    known = code.co_argcount + code.co_kwonlyargcount
    others = code.co_varnames[known : code.co_nlocals]
    names = list(code.co_varnames[bound : code.co_argcount])
    names += [f"{others[0]}[{i}]" for i in range(len(args) + len(static) - len(names))]
    dynamic = [name for i, name in enumerate(names) if i not in static]
    more = others[1 if code.co_flags & inspect.CO_VARARGS else 0] if code.co_flags & inspect.CO_VARKEYWORDS else ""
    keywords = [(name if name in code.co_varnames[:known] else f"{more}[{name!r}]", x) for name, x in kwargs.items()]
    return _leaf_names([*zip(dynamic, args, strict=False), *keywords])


def _leaf_names(named: list[tuple[str, Any]]) -> tuple[str, ...]:
    return tuple([name + tree.keystr(path) for name, x in named for path, _ in tree.tree_leaves_with_path(x)])
