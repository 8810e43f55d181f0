"""The names in a source that refer to JAX: their bindings by imports, and their uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Use:
    """A name, or a path of attributes, whose first name an import of JAX binds.

    Attributes:
      node: the longest path of attributes.
      root: the first name of the path.
      path: the name in JAX, as a dotted path.
    """

    node: ast.expr
    root: ast.Name
    path: str


@dataclass(slots=True)
class Scope:
    """The meanings of the names in a scope: a path of JAX, or None for another object."""

    outer: Scope | None = None
    is_class: bool = False
    names: dict[str, str | None] = field(default_factory=dict)

    def outermost(self) -> Scope:
        """The scope of the module."""
        return self if self.outer is None else self.outer.outermost()

    def look_up(self, name: str) -> str | None:
        """The path of JAX that a name means in this scope, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.outer
        return None


def is_jax(module: str | None) -> bool:
    """Whether a module is JAX or a module below it."""
    return (module or "").partition(".")[0] == "jax"


def bindings(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str | None]]:
    """The names that an import binds, each with its path of JAX, or None."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            ported = (alias.name, alias.asname) == ("primax", "jax")  # the port of `import jax`
            yield alias.asname or path, "jax" if ported else path if is_jax(path) else None
        elif alias.name != "*":
            means = node.level == 0 and is_jax(node.module)
            yield alias.asname or alias.name, f"{node.module}.{alias.name}" if means else None


def uses_of(tree: ast.Module) -> Iterator[Use]:
    """Every use of a name of JAX in a module, each with the longest path of attributes."""
    scope = Scope()
    _bind(tree.body, scope)
    for statement in tree.body:
        yield from _uses(statement, scope)


def _bind(body: list[ast.stmt] | list[ast.AST], scope: Scope) -> None:
    """Record the names that a body binds in its scope. A name that one import binds to JAX always means JAX."""
    elsewhere: set[str] = set()
    for node in body:
        for name, path in _bound_by(node, elsewhere):
            if path is not None or name not in scope.names:
                scope.names[name] = path
    for name in elsewhere:  # `global` and `nonlocal`
        path = scope.names.pop(name, None)
        if path is not None:
            scope.outermost().names[name] = path


def _bound_by(node: ast.AST, elsewhere: set[str]) -> Iterator[tuple[str, str | None]]:
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from bindings(node)
            return
        case ast.Global() | ast.Nonlocal():
            elsewhere.update(node.names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, None
            return
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id, None
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, None
    for child in ast.iter_child_nodes(node):
        yield from _bound_by(child, elsewhere)


def _in_string(node: ast.expr, scope: Scope) -> Iterator[Use]:
    """The uses in annotations that are strings on one line without escapes."""
    for string in ast.walk(node):
        if not isinstance(string, ast.Constant) or not isinstance(string.value, str):
            continue
        assert string.end_col_offset is not None
        if string.end_col_offset - string.col_offset != len(string.value.encode()) + 2:
            continue
        try:
            inner = ast.parse(string.value, mode="eval")
        except SyntaxError:
            continue
        for expression in ast.walk(inner):
            if isinstance(expression, ast.expr):
                assert expression.end_col_offset is not None
                expression.lineno = expression.end_lineno = string.lineno
                expression.col_offset += string.col_offset + 1
                expression.end_col_offset += string.col_offset + 1
        yield from _uses(inner.body, scope)


def _annotation(node: ast.expr, scope: Scope) -> Iterator[Use]:
    yield from _uses(node, scope)
    yield from _in_string(node, scope)


def _uses(node: ast.AST, scope: Scope) -> Iterator[Use]:
    match node:
        case ast.AnnAssign():
            yield from _annotation(node.annotation, scope)
            yield from _uses(node.target, scope)
            if node.value is not None:
                yield from _uses(node.value, scope)
            return
        case ast.Attribute() | ast.Name():
            yield from _path(node, scope)
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from _function(node, scope)
            return
        case ast.ClassDef():
            inner = Scope(scope, is_class=True)
            _bind(node.body, inner)
            for child in [*node.decorator_list, *node.bases, *node.keywords]:
                yield from _uses(child, scope)
            for child in node.body:
                yield from _uses(child, inner)
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            inner = Scope(scope)
            for generator in node.generators:
                inner.names |= dict(_bound_by(generator.target, set()))
            for child in ast.iter_child_nodes(node):
                yield from _uses(child, inner)
            return
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, scope)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> Iterator[Use]:
    arguments = node.args
    inner = Scope(scope)
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            inner.names[argument.arg] = None
            if argument.annotation is not None:
                yield from _annotation(argument.annotation, scope)
    for default in [*arguments.defaults, *arguments.kw_defaults]:
        if default is not None:
            yield from _uses(default, scope)
    if isinstance(node, ast.Lambda):
        yield from _uses(node.body, inner)
        return
    for child in node.decorator_list:
        yield from _uses(child, scope)
    if node.returns is not None:
        yield from _annotation(node.returns, scope)
    _bind(node.body, inner)
    for statement in node.body:
        yield from _uses(statement, inner)


def _path(node: ast.expr, scope: Scope) -> Iterator[Use]:
    names: list[str] = []
    root = node
    while isinstance(root, ast.Attribute):
        names.append(root.attr)
        root = root.value
    if not isinstance(root, ast.Name):
        yield from _uses(root, scope)
        return
    path = scope.look_up(root.id)
    if path is not None and isinstance(root.ctx, ast.Load):
        yield Use(node, root, ".".join([path, *reversed(names)]))
