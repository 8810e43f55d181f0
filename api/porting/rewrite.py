"""Rewriting of a source for JAX: imports, and attributes of imported modules."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from types import ModuleType

from primax.core.config import config
from primax.porting.edits import Edits
from primax.porting.lookup import find, is_module, is_ported_module, ported_path, stands_in
from primax.porting.names import Use, is_jax, uses_of
from primax.porting.table import table

_MODULE = re.compile(r"from\s+(?P<module>[\w.]+)\s")
_CODE = re.compile(
    r"^\s*(?:>>>|\.\.\.)?\s*(?:(?:from|import)\s+jax\b|(?<=>>>\s).*\bjax\.\w|.*>>>.*\bjax\.\w)", re.MULTILINE
)


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """A remark about a line: a name of JAX without a counterpart, with the remedy, or an unchanged text."""

    line: int
    name: str
    text: str


@dataclass(slots=True)
class Rewritten:
    """The result of rewriting a source.

    Attributes:
      text: the rewritten source.
      absent: the names without a counterpart.
      notes: other remarks, such as names of JAX in strings.
    """

    text: str
    absent: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)


def rewrite(text: str) -> Rewritten:
    """Rewrite the source of a module.

    Args:
      text: the source, with its original line endings.

    Returns:
      The rewritten source: only imports of JAX, and paths of attributes that start at them, change.

    Raises:
      SyntaxError: the source is not valid Python.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""  # the byte order mark
    body = text.removeprefix(mark)
    tree = _parsed(body)
    rewriter = _Rewriter(Edits(body))
    uses = list(uses_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            rewriter.plain_import(node)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and is_jax(node.module):
            rewriter.from_import(node)
    for use in uses:
        rewriter.use(use)
    rewriter.options(tree, uses)
    rewriter.strings(tree)
    rewriter.add_imports(tree)
    done = rewriter.edits.result()
    if done != body:
        _parsed(done)
    return Rewritten(mark + done, sorted(set(rewriter.absent)), sorted(set(rewriter.notes)))


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about the file's own code, such as its escapes
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from error


def _is_object(name: str) -> bool:
    """Whether a module of JAX is an object in primax that is not a module, as distributions are."""
    path = ported_path(name) if is_jax(name) and is_module(name) else None
    return path is not None and not isinstance(find(path), ModuleType)


def _as(path: str, name: str) -> str:
    """One item of an import that binds a name."""
    return path if path == name else f"{path} as {name}"


@dataclass(slots=True)
class _Rewriter:
    """Collects the edits of one source."""

    edits: Edits
    absent: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    read: set[int] = field(default_factory=set)  # lines with uses in strings
    modules: set[str] = field(default_factory=set)  # modules that rewritten paths need and no import binds

    def tell_absent(self, node: ast.expr | ast.stmt | ast.alias, name: str) -> None:
        reason = table().reason(name) if table().is_public(name) else None
        if not stands_in(name):
            text = table().explain(name)
        else:
            text = f"{reason or 'it is private in JAX'}; `primax as-jax` has it"
        self.absent.append(Remark(node.lineno, name, text))

    def plain_import(self, node: ast.Import) -> None:
        """Rewrite `import jax`, `import jax.numpy as jnp` and the like, item by item."""
        bound: set[str] = set()
        texts = [self._item(alias, bound) for alias in node.names]
        objects = [alias for alias in node.names if alias.asname and _is_object(alias.name)]
        if objects:
            others = [text for alias, text in zip(node.names, texts, strict=True) if alias not in objects]
            lines = [f"import {', '.join(others)}"] if others else []
            for alias in objects:  # modules in JAX, objects in primax
                assert alias.asname is not None
                module, _, name = str(ported_path(alias.name)).rpartition(".")
                lines.append(f"from {module} import {_as(name, alias.asname)}")
            self._replace_whole(node, lines)
            return
        for alias, text in zip(node.names, texts, strict=True):
            self.edits.replace(self.edits.start(alias), self.edits.end(alias), text)

    def _item(self, alias: ast.alias, bound: set[str]) -> str:
        """One rewritten item of an `import`; adds the names that it binds to `bound`."""
        before = self.edits.between(self.edits.start(alias), self.edits.end(alias))
        if not is_jax(alias.name):
            return before
        path = ported_path(alias.name) if is_ported_module(alias.name) else None
        if path is None:
            self.tell_absent(alias, alias.name)
            return before
        items = [f"{path} as {alias.asname}"] if alias.asname else ["primax as jax"]
        if not alias.asname and not path.startswith("primax"):
            items.append(path)
        new = ", ".join(item for item in items if item not in bound)
        bound.update(items)
        return new or items[0]  # a repeated item is harmless

    def from_import(self, node: ast.ImportFrom) -> None:
        """Rewrite `from jax... import ...`; names without a counterpart stay in a statement of their own."""
        assert node.module is not None
        if _is_object(node.module):
            self._from_object(node)
            return
        if node.names[0].name == "*":
            path = ported_path(node.module) if is_ported_module(node.module) else None
            if path is None:
                self.tell_absent(node, node.module)
            else:
                self._replace_module(node, path)
            return
        homes: dict[int, tuple[str, str]] = {}
        for at, alias in enumerate(node.names):
            path = ported_path(f"{node.module}.{alias.name}")
            self._tell_release(alias, f"{node.module}.{alias.name}")
            if path is None:
                self.tell_absent(alias, f"{node.module}.{alias.name}")
                homes[at] = (node.module, alias.name)
            else:
                module, _, name = path.rpartition(".")
                homes[at] = (module, name) if module else ("", name)
        self._divide(node, homes)

    def _from_object(self, node: ast.ImportFrom) -> None:
        """Bind names of an object in primax that is a module in JAX."""
        assert node.module is not None
        if node.names[0].name == "*":
            text = "it is an object in primax, from which `*` cannot import; import the names that you use"
            self.absent.append(Remark(node.lineno, node.module, text))
            return
        there = [alias for alias in node.names if ported_path(f"{node.module}.{alias.name}") is not None]
        left = [alias for alias in node.names if alias not in there]
        lines = []
        if left:
            for alias in left:
                self.tell_absent(alias, f"{node.module}.{alias.name}")
            lines.append(f"from {node.module} import {', '.join(_as(x.name, x.asname or x.name) for x in left)}")
        if there:
            module, _, name = str(ported_path(node.module)).rpartition(".")
            lines.append(f"from {module} import {name} as _{name}")
            bound = ", ".join(alias.asname or alias.name for alias in there)
            lines.append(f"{bound} = {', '.join(f'_{name}.{alias.name}' for alias in there)}")
        self._replace_whole(node, lines)

    def _replace_whole(self, node: ast.stmt, statements: list[str]) -> None:
        indentation = self.edits.indentation(node)
        glue = "; " if indentation is None else self.edits.newline() + indentation
        start, end = self.edits.start(node), self.edits.end(node)
        self.edits.replace(start, end, glue.join(statements))

    def _divide(self, node: ast.ImportFrom, homes: dict[int, tuple[str, str]]) -> None:
        """Rewrite a statement whose items are now in one or more modules."""
        count = Counter(module for module, _ in homes.values())
        main = max(count, key=lambda module: (count[module], bool(module), -len(module)))
        items = [_as(homes[at][1], alias.asname or alias.name) for at, alias in enumerate(node.names)]
        others = [at for at in homes if homes[at][0] != main]
        source = self.edits.between(self.edits.start(node), self.edits.end(node))
        comments: list[str] = []
        if not main or (others and len(source.splitlines()) == 1):
            kept = ", ".join(item for at, item in enumerate(items) if at not in others)
            kept = f"({kept})" if "(" in source and main else kept
            new = f"from {main} import {kept}" if main else f"import {kept}"
            self.edits.replace(self.edits.start(node), self.edits.end(node), new)
        else:
            self._replace_module(node, main)
            for at, alias in enumerate(node.names):
                if at in others:
                    comments += self._take_out(node, at)
                else:
                    self.edits.replace(self.edits.start(alias), self.edits.end(alias), items[at])
        lines = []
        for module in sorted({homes[at][0] for at in others}):
            moved = ", ".join(items[at] for at in others if homes[at][0] == module)
            lines.append(f"from {module} import {moved}" if module else f"import {moved}")
        self._insert(node, lines, comments)

    def _insert(self, node: ast.stmt, statements: list[str], comments: list[str]) -> None:
        """Put statements before another one, on lines of their own if it begins its line."""
        if not statements:
            return
        indentation = self.edits.indentation(node)
        glue = "; " if indentation is None else self.edits.newline() + indentation
        if indentation is not None and comments:
            statements = [*statements[:-1], f"{statements[-1]}  {' '.join(comments)}"]
        self.edits.replace(self.edits.start(node), self.edits.start(node), glue.join([*statements, ""]))

    def _take_out(self, node: ast.ImportFrom, at: int) -> list[str]:
        """Remove an item from a statement of several lines, and the item's line if it becomes empty.

        Returns:
          The comment after the item.
        """
        start, end = self.edits.start(node.names[at]), self.edits.end(node.names[at])
        before = self.edits.between(self.edits.start(node), start)
        after = self.edits.between(end, self.edits.end(node))
        behind = re.match(
            r"[ \t]*(?:\r?\n[ \t]*)?,?[ \t]*(?P<comment>#[^\r\n]*)?(?P<line>(?:\r\n|\r|\n)[ \t]*(?![ \t)]))?", after
        )
        assert behind is not None
        space = re.search(r"(?:\r\n|\r|\n)?[ \t]*\Z", before)
        assert space is not None
        end += len(behind[0].encode())
        alone = space[0] != before and space[0].startswith(("\r", "\n"))
        if behind["line"] is not None and not alone:  # the line has other items
            end -= len(behind["line"].encode())
            start -= len(space[0].encode())
        if behind["line"] is None and alone:  # the last line: the line before keeps its ending
            start -= len(space[0].encode())
        self.edits.replace(start, end, "")
        return [] if behind["comment"] is None else [behind["comment"]]

    def _replace_module(self, node: ast.ImportFrom, path: str) -> None:
        start = self.edits.start(node)
        statement = _MODULE.match(self.edits.between(start, self.edits.end(node)))
        assert statement is not None
        first = len(statement[0][: statement.start("module")].encode())
        self.edits.replace(start + first, start + first + len(statement["module"].encode()), path)

    def use(self, use: Use) -> None:
        """Rewrite a path of attributes whose counterpart has another path."""
        if self.edits.between(self.edits.start(use.root) - 1, self.edits.start(use.root)) in ('"', "'"):
            self.read.add(use.node.lineno)
        self._tell_release(use.node, use.path)
        names = self._leaf(use)
        if names is None:
            return
        leaf, name = names
        path = ported_path(name)
        if path is None:
            self.tell_absent(leaf, name)
            return
        root = ported_path(self._root_path(use))
        rest = name.removeprefix(self._root_path(use))
        if root is not None and path == root + rest:
            return
        if root is not None and path.startswith(f"{root}."):
            self.edits.replace(self.edits.end(use.root), self.edits.end(leaf), path.removeprefix(root))
        else:
            self.edits.replace(self.edits.start(use.root), self.edits.end(leaf), path)
            self.modules.add(path.rpartition(".")[0])

    def _tell_release(self, node: ast.expr | ast.alias, name: str) -> None:
        """Note that a version is primax's own now; programs may compare it with a version of JAX."""
        if name in ("jax.__version__", "jax.__version_info__"):
            self.notes.append(Remark(node.lineno, name, "it is now the release of primax, not of JAX"))

    def options(self, tree: ast.Module, uses: list[Use]) -> None:
        """Report options that primax does not have: attributes of `jax.config`, and names in calls of its methods."""
        ways = {id(use.node): use.path for use in uses}
        for use in uses:
            name = use.path.removeprefix("jax.config.").partition(".")[0]
            if use.path.startswith("jax.config.") and name.startswith("jax_"):
                self._tell_option(use.node, name)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ways.get(id(node.func)) in ("jax.config.update", "jax.config.read"):
                option = node.args[0] if node.args else None
                if isinstance(option, ast.Constant) and isinstance(option.value, str):
                    self._tell_option(option, option.value)

    def _tell_option(self, node: ast.expr, name: str) -> None:
        if not hasattr(config, name):
            text = "the option does not exist, and setting or reading it raises an error; delete the line"
            self.absent.append(Remark(node.lineno, f"jax.config.{name}", text))

    def _root_path(self, use: Use) -> str:
        """The meaning of the first name of a path."""
        depth = 0
        node = use.node
        while isinstance(node, ast.Attribute):
            node, depth = node.value, depth + 1
        return use.path.rsplit(".", depth)[0] if depth else use.path

    def _leaf(self, use: Use) -> tuple[ast.expr, str] | None:
        """The longest part of a path that is a name of JAX, its node and path; None if that is only the first name."""
        root = self._root_path(use)
        nodes = []
        node = use.node
        while isinstance(node, ast.Attribute):
            nodes.append(node)
            node = node.value
        if not is_ported_module(root):
            return None
        name, leaf = root, None
        for attribute in reversed(nodes):
            if attribute.attr.startswith("__"):
                break
            name, leaf = f"{name}.{attribute.attr}", attribute
            if not is_ported_module(name):
                break
        return None if leaf is None else (leaf, name)

    def strings(self, tree: ast.Module) -> None:
        """Report strings with code for JAX, which are not rewritten."""
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node.lineno in self.read:
                continue
            if re.fullmatch(r"jax(\.\w+)+|jax", node.value):
                self.notes.append(Remark(node.lineno, node.value, "a string is left as it is"))
            elif _CODE.search(node.value):
                self.notes.append(Remark(node.lineno, "jax", "a string with code for JAX is left as it is"))

    def add_imports(self, tree: ast.Module) -> None:
        """Import the modules that rewritten paths need, before the first import of JAX."""
        imports = [
            node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and _imports_jax(node)
        ]
        if not self.modules or not imports:
            return
        first = min(imports, key=lambda node: node.lineno)
        self._insert(first, [f"import {module}" for module in sorted(self.modules)], [])


def _imports_jax(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and is_jax(node.module)
    return any(is_jax(alias.name) for alias in node.names)
