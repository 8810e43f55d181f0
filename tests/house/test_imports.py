"""The five rooms import each other one way only, and each imports from outside only what it may."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from checkout import FAMILIES, PYTEST_PLUGIN, ROOT, module_name, python_files, relative

ALLOWED_OUTSIDE = {
    "core": {"numpy", "ml_dtypes", "pluggy"},
    "interpreters": {"numpy", "ml_dtypes", "jaxlib"},
    "extend": {"numpy", "ml_dtypes", "jaxlib", "pluggy"},
    "plugins": {"numpy", "ml_dtypes"},
    "api": {"numpy"},
}
JAXLIB_MODULE = "core/_jaxlib.py"
TRANSFER_MODULE = "extend/transfer.py"
PROGRESS_MODULE = "plugins/callbacks/progress.py"  # uses tqdm where it is installed
ABSL_TESTS = "api/porting/private/test_util/"  # a test case of absl, for tests that use absl


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: `from module import name`, or `import module` when the name is empty."""

    file: str
    line: int
    module: str
    name: str
    level: int
    in_function: bool
    typing_only: bool

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.dotted}"


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _imports_below(node: ast.AST, file: str, in_function: bool, typing_only: bool) -> Iterator[Import]:
    where = (in_function, typing_only)
    match node:
        case ast.Import():
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, "", 0, *where)
        case ast.ImportFrom():
            for alias in node.names:
                yield Import(file, node.lineno, node.module or "", alias.name, node.level, *where)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            in_function = True
        case ast.If() if _is_type_checking(node.test):
            for child in node.body:
                yield from _imports_below(child, file, in_function, True)
            for child in node.orelse:
                yield from _imports_below(child, file, in_function, typing_only)
            return
        case ast.Call(args=[ast.Constant(value=str(module)), *_]) if ast.unparse(node.func) in (
            "__import__",
            "import_module",
            "importlib.import_module",
        ):
            yield Import(file, node.lineno, module, "", 0, False, typing_only)
    for child in ast.iter_child_nodes(node):
        yield from _imports_below(child, file, in_function, typing_only)


def imports_of(source: str, file: str) -> list[Import]:
    """Every import in the source; `import_module` of a literal is one, and counts as at module level."""
    return list(_imports_below(ast.parse(source), file, False, False))


@cache
def all_imports() -> tuple[Import, ...]:
    files = {relative(path): path.read_text(encoding="utf-8") for path in python_files()}
    assert files
    return tuple(found for file, source in files.items() for found in imports_of(source, file))


# A module imports only from its own layer and those before it.
LAYERS = ("core", "interpreters", "interpreters.runtime", "extend", "plugins", "api")


def _layer(module: str) -> int:
    inside = f"{module.partition('.')[2]}."
    return max((i for i, layer in enumerate(LAYERS) if inside.startswith(f"{layer}.")), default=len(LAYERS) - 1)


def _upward(imports: tuple[Import, ...] | list[Import]) -> list[str]:
    return [
        str(found)
        for found in imports
        if found.module.split(".")[0] == "primax" and _layer(found.dotted) > _layer(module_name(found.file))
    ]


def _cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other, and modules that name themselves (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1 or module in graph[module]:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return sorted(found)


def _graph(imports: tuple[Import, ...] | list[Import], files: list[str]) -> dict[str, set[str]]:
    """Who waits for whose import at run time: `from package import module` waits for both.

    `from package.module import name` waits for the module alone while another thread imports the package.
    """
    graph: dict[str, set[str]] = {module_name(file): set() for file in files}
    for found in imports:
        if not found.typing_only and found.level == 0:
            module = module_name(found.file)
            waits = {found.module, found.dotted} if found.dotted in graph else {found.module}
            if found.name and found.dotted in graph:  # a package does not wait for itself
                waits.discard(module)
            graph[module] |= waits & graph.keys()
    return graph


def test_imports_follow_the_arrows() -> None:
    assert _upward(all_imports()) == []


def test_imports_are_absolute() -> None:
    assert [str(found) for found in all_imports() if found.level] == []


def test_no_function_imports_anything() -> None:
    assert [str(found) for found in all_imports() if found.in_function] == []


def test_no_module_is_part_of_an_import_cycle() -> None:
    assert _cycles(_graph(all_imports(), [relative(path) for path in python_files()])) == []


def test_nothing_imports_jax_but_what_carries_primitives_there() -> None:
    importing = {found.file for found in all_imports() if found.module.split(".")[0] == "jax"}
    assert importing == {TRANSFER_MODULE}


def test_jax_is_not_imported_before_a_primitive_is_carried_there() -> None:
    program = (
        "import sys, primax.extend; primax.extend.to_jax; print([m for m in sys.modules if m.split('.')[0] == 'jax'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_each_room_imports_only_what_it_may_from_outside() -> None:
    refused = []
    for found in all_imports():
        top = found.module.split(".")[0]
        allowed = {"primax"} | ALLOWED_OUTSIDE[found.file.split("/")[0]] | sys.stdlib_module_names
        if found.file == JAXLIB_MODULE:
            allowed = allowed | {"jaxlib"}
        if found.file == PYTEST_PLUGIN:
            allowed = allowed | {"pytest"}
        if found.file == TRANSFER_MODULE:
            allowed = allowed | {"jax"}
        if found.file == PROGRESS_MODULE:
            allowed = allowed | {"tqdm"}
        if found.file.startswith(ABSL_TESTS):
            allowed = allowed | {"absl"}
        if found.typing_only:
            allowed = allowed | {"typing_extensions"}  # every type checker knows it, and nothing else reads the import
        if found.level == 0 and top not in allowed:
            refused.append(str(found))
    assert refused == []


def test_what_is_imported_from_outside_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert {requirement.partition(">")[0] for requirement in declared} == set().union(*ALLOWED_OUTSIDE.values())


def test_private_jaxlib_names_stand_behind_one_module() -> None:
    assert [
        str(found)
        for found in all_imports()
        if found.module.split(".")[0] == "jaxlib"
        and found.file != JAXLIB_MODULE
        and any(part.startswith("_") for part in found.dotted.split("."))
    ] == []


def test_plugins_import_only_the_extension_surface_and_each_other() -> None:
    assert [
        str(found)
        for found in all_imports()
        if found.file.startswith("plugins/")
        and found.module.split(".")[0] == "primax"
        and LAYERS[_layer(found.dotted)] not in ("extend", "plugins")
    ] == []


def _family(module: str) -> str:
    """The family that a module is, or belongs to."""
    return module.split(".")[2]


def _unpromised(files: dict[str, str], promised: dict[str, list[str]]) -> list[str]:
    """What families take of others that these do not export: from submodules, or names that are not in `__all__`.

    Args:
      files: the sources of families, by path.
      promised: what each family exports.
    """
    found = []
    for file, source in files.items():
        own = _family(module_name(file))
        whole = {}  # families that are imported as modules, by the name that stands for each
        for each in imports_of(source, file):
            if not each.module.startswith("primax.plugins"):
                continue
            if each.module == "primax.plugins":
                whole[each.name] = each.name
            elif _family(each.module) != own and (
                each.module.count(".") > 2 or each.name not in promised[_family(each.module)]
            ):
                found.append(str(each))
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in whole.keys() - {own}:
                    if attribute not in promised[whole[name]]:
                        found.append(f"{file}:{node.lineno} uses {name}.{attribute}")
    return found


def _family_files() -> dict[str, str]:
    """The sources of families, by path; not what only the conformance kit reads."""
    return {
        relative(path): path.read_text(encoding="utf-8")
        for path in python_files()
        if relative(path).startswith("plugins/")
        and relative(path) != "plugins/__init__.py"
        and not relative(path).startswith("plugins/samples/")
    }


def test_families_take_of_each_other_what_they_export() -> None:
    files = _family_files()
    names = {_family(module_name(file)) for file in files}
    promised = {name: importlib.import_module(f"primax.plugins.{name}").__all__ for name in names}
    assert _unpromised(files, promised) == []


def test_every_folder_and_file_of_plugins_is_a_family() -> None:
    assert {_family(module_name(file)) for file in _family_files()} == set(FAMILIES)


def test_samples_are_imported_by_the_conformance_kit_alone() -> None:
    importing = {each.file for each in all_imports() if each.dotted.startswith("primax.plugins.samples")}
    assert importing <= {relative(path) for path in (ROOT / "plugins" / "samples").iterdir()}
    program = "import sys, primax.numpy; primax.jit(primax.numpy.sin)(1.0); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    loaded = done.stdout.split()
    assert "primax.plugins.trigonometry" in loaded, done.stderr
    assert [name for name in loaded if "sampl" in name] == ["primax.extend.core.samples"]


def test_samples_take_of_other_families_what_these_export() -> None:
    taken = []
    for each in all_imports():
        if each.file.startswith("plugins/samples/") and each.module.startswith("primax.plugins."):
            family = _family(each.module)
            if family not in (each.file.rpartition("/")[2].removesuffix(".py"), "samples"):
                exported = importlib.import_module(f"primax.plugins.{family}").__all__
                taken += [str(each)] if each.module.count(".") > 2 or each.name not in exported else []
    assert taken == []


def test_families_touch_no_private_parts_of_arrays() -> None:
    touched = [
        f"{file}:{node.lineno} uses .{node.attr}"
        for file, source in _family_files().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in ("_b", "_host", "_committed")
    ]
    assert touched == []


def test_what_a_family_takes_unpromised_is_found_wherever_it_hides() -> None:
    source = """
from primax.plugins import other
from primax.plugins.other import public, hidden
from primax.plugins.other.inner import public
from primax.plugins.mine.inner import anything
x = other.public + other.hidden
"""
    found = _unpromised({"plugins/mine/here.py": source}, {"other": ["public"], "mine": []})
    assert [line.split()[-1] for line in found] == [
        "primax.plugins.other.hidden",
        "primax.plugins.other.inner.public",
        "other.hidden",
    ]


def test_an_import_against_the_arrows_is_found_wherever_it_hides() -> None:
    source = """
from typing import TYPE_CHECKING
import importlib
from primax import extend
if TYPE_CHECKING:
    from primax.extend.provisional.elementwise import sin
def f():
    import primax.api_name
    return importlib.import_module("primax.plugins.random")
"""
    found = imports_of(source, "core/made_up.py")
    assert [line.split()[-1] for line in _upward(found)] == [
        "primax.extend",
        "primax.extend.provisional.elementwise.sin",
        "primax.api_name",
        "primax.plugins.random",
    ]
    assert [each.dotted for each in found if each.in_function] == ["primax.api_name"]
    assert [each.dotted for each in found if each.typing_only] == ["primax.extend.provisional.elementwise.sin"]


def test_a_cycle_is_found_through_names_and_packages() -> None:
    files = ["core/__init__.py", "core/a.py", "core/b.py", "core/c.py"]
    imports = [
        *imports_of("from primax.core import b", "core/a.py"),
        *imports_of("from primax.core.c import name", "core/b.py"),
        *imports_of("import primax.core.a", "core/c.py"),
        *imports_of("from primax.core.a import name", "core/__init__.py"),
    ]
    assert _cycles(_graph(imports[:-1], files)) == [["primax.core.a", "primax.core.b", "primax.core.c"]]
    assert _cycles(_graph(imports[3:], files)) == []


def test_a_module_that_waits_for_the_package_which_imports_it_is_a_cycle() -> None:
    files = ["core/__init__.py", "core/a.py", "core/b.py"]
    package = imports_of("from primax.core import a, b", "core/__init__.py")
    waiting = imports_of("from primax.core import b", "core/a.py")
    naming = imports_of("from primax.core.b import name", "core/a.py")
    assert _cycles(_graph([*package, *waiting], files)) == [["primax.core", "primax.core.a"]]
    assert _cycles(_graph([*package, *naming], files)) == []
