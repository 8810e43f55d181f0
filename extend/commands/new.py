"""Write a package with a plugin: rules, and tests that run the conformance kit, with all that a repository needs."""

from __future__ import annotations

import argparse
import ast
import json
import keyword
import re
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from string import Template
from typing import NamedTuple

from primax.core.rules import rule_tables
from primax.extend.commands.common import UsageError, add_examples, add_json, look_up, show_json
from primax.extend.host.hookspec import API_VERSION
from primax.extend.host.plugin_host import host

__all__ = ["configure", "run"]

# The files of a package, and the file of the skeleton from which each is made; "" stands for an empty file.
_FILES = {
    "pyproject.toml": "pyproject.toml.in",
    "README.md": "README.md.in",
    "CHANGELOG.md": "CHANGELOG.md.in",
    ".gitignore": "gitignore.in",
    ".github/workflows/test.yml": "test.yml.in",
    "src/$module/__init__.py": "init.py.in",
    "src/$module/$file.py": "$kind.py.in",
    "src/$module/primax.json": "primax.json.in",
    "src/$module/py.typed": "",
    "tests/test_$file.py": "test_$kind.py.in",
}
_FILES_OF_KIND = {
    "ffi": {"setup.py": "setup.py.in", "src/$module/$file.cc": "ffi.cc.in"},
    "ffi-gpu": {
        "setup.py": "setup_gpu.py.in",
        "src/$module/$file.cc": "ffi.cc.in",
        "src/$module/$file.cu": "ffi_gpu.cu.in",
    },
}
_LICENSES = {"MIT": "license_mit.in", "BSD-3-Clause": "license_bsd_3_clause.in", "Apache-2.0": "license_apache_2_0.in"}


class _Kind(NamedTuple):
    """A template.

    Attributes:
      function: the name of its function; empty if it only has rules for primitives of others.
      what: what the package brings, as a sentence about `$name`.
      rules: the rules of its primitive.
      extends: the primitives of others to which it gives rules of the kind `$primitive`, or rules written out.
      requires: a requirement to build the package.
      example: the arguments of `primax why` for a rule.
      exports: further public names.
    """

    function: str
    what: str
    rules: str = ""
    extends: str = ""
    requires: str = ""
    example: str = "$primitive jvp"
    exports: str = ""

    @property
    def owns_primitive(self) -> bool:
        return bool(self.rules)


_USUAL = "abstract_eval batch impl jvp lowering"
_KINDS = {
    "elementwise": _Kind("damp", "the primitive $name, a number scaled to less than one", f"{_USUAL} sharding"),
    "linear": _Kind("axpy", "the primitive $name, a multiple of one array plus another", f"{_USUAL} transpose"),
    "higher-order": _Kind(
        "iterate",
        "the primitive $name, a function applied several times",
        "batch effectful_abstract_eval impl interpret jvp lowering",
    ),
    "reduction": _Kind("energy", "the primitive $name, a sum of squares along an axis", _USUAL),
    "random": _Kind("jitter", "the primitive $name, an array plus noise", _USUAL),
    "ffi": _Kind(
        "boost",
        "the primitive $name, a multiple of an array by C++",
        "abstract_eval batch jvp lowering[cpu] sharding transpose",
        requires="jaxlib>=0.10",
    ),
    "ffi-gpu": _Kind(
        "boost",
        "the primitive $name, a multiple of an array by C++ and CUDA",
        "abstract_eval batch jvp lowering[cpu] lowering[cuda] sharding transpose",
        requires="jaxlib>=0.10",
    ),
    "interpreter": _Kind(
        "bounds",
        "the transformation $name, bounds of a function's result, with a kind of rules of its own",
        extends="add exp max min mul neg sub tanh",
        example="exp $primitive",
        exports="Range",
    ),
    "extension": _Kind(
        "",
        "rules for primitives of others: a derivative of nextafter",
        extends="nextafter jvp",
        example="nextafter jvp",
    ),
    "override": _Kind(
        "", "rules in place of others: a more exact rsqrt", extends="rsqrt lowering", example="rsqrt lowering"
    ),
}
_SKELETON = Path(__file__).with_name("skeleton")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="the package's name, such as my-plugin")
    parser.add_argument(
        "--kind", metavar="KIND", default="linear", help=f"the template: {', '.join(_KINDS)}; by default linear"
    )
    parser.add_argument(
        "--primitive",
        metavar="NAME",
        help="the name of the primitive and of its function, or, of an interpreter, of its function and kind of rules",
    )
    parser.add_argument(
        "--into", metavar="DIR", default=".", help="the directory for the package; by default the current one"
    )
    parser.add_argument(
        "--author",
        metavar="AUTHOR",
        action="append",
        default=[],
        help="an author, as in 'Ada Lovelace <ada@example.org>'; may be repeated; by default none",
    )
    parser.add_argument("--license", metavar="NAME", help=f"one of {', '.join(_LICENSES)}; by default none")
    parser.add_argument("--url", metavar="URL", help="the address of the repository; by default none")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax new my-plugin": "a linear primitive in ./my-plugin",
            "primax new my-plugin --kind elementwise --primitive lambertw --license MIT": "a primitive with that name",
            "primax new my-plugin --kind ffi --into ~/src": "one in C++, in another folder",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Write a package."""
    distribution = _distribution(arguments.name)
    module = distribution.replace("-", "_")
    folder = Path(arguments.into, distribution)
    kind = look_up("kind of package", arguments.kind, _KINDS)
    _require_free(distribution, module, folder)
    names = {
        "kind": arguments.kind.replace("-", "_"),
        "distribution": distribution,
        "plugin": distribution,
        "module": module,
        "api": "v{}_{}".format(*API_VERSION),
        "primax": ".".join(arguments.version.split(".")[:2]),
        "requires": ", ".join(f'"{requirement}"' for requirement in ("setuptools>=77", kind.requires) if requirement),
        **_names_of(kind, arguments.primitive, module),
        **_legal(arguments.author, arguments.license, arguments.url, distribution),
    }
    names |= _texts(kind, arguments.kind, names)
    if arguments.primitive is not None:
        _require_unused(arguments.primitive, names)
    sources = {**_FILES, **_FILES_OF_KIND.get(arguments.kind, {})}
    if arguments.license is not None:
        sources["LICENSE"] = _LICENSES[arguments.license]
    try:
        files = _write(folder, names, sources)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    if arguments.json:
        show_json({"folder": str(folder), "files": files, **names})
    else:
        listed = "\n  ".join(files)
        print(f"{folder} has been written:\n  {listed}")
        print(f"Next:\n  pip install -e {folder} pytest\n  {names['check']}\n  pytest {folder}")
    return 0


def _distribution(name: str) -> str:
    """A name as package indices spell it.

    Raises:
      UsageError: it is not a name of a package.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_.]+[A-Za-z0-9]+)*", name):
        raise UsageError(f"NAME must begin with a letter and have only letters, digits and inner hyphens, got {name!r}")
    return re.sub(r"[-_.]+", "-", name).lower()


def _require_free(distribution: str, module: str, folder: Path) -> None:
    """Refuse names that exist already.

    Raises:
      UsageError: the name belongs to a keyword, module, plugin or folder.
    """
    if keyword.iskeyword(module):
        raise UsageError(f"NAME must not be a keyword of Python, got {module!r}")
    if module in sys.stdlib_module_names or import_module("importlib.util").find_spec(module) is not None:
        raise UsageError(f"NAME must not be the name of an existing module, got {module!r}")
    taken = [record.name for record in host.records() if re.sub(r"\W", "_", record.name) == module]
    if taken:
        raise UsageError(f"NAME must not be the name of an installed plugin, got {taken[0]!r}")
    if not folder.parent.is_dir():
        raise UsageError(f"there is no folder {str(folder.parent)!r}")
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{str(folder)!r} exists already")


def _names_of(kind: _Kind, chosen: str | None, module: str) -> dict[str, str]:
    """The names of the function, of its primitive or kind of rules, and names derived from them.

    Args:
      kind: the template.
      chosen: the user's name for both, or None.
      module: the module of the package.

    Raises:
      UsageError: the name is not possible.
    """
    if chosen is not None:
        _require_possible(kind, chosen)
    function = kind.function and (chosen or kind.function)
    primitive = chosen or f"{module}_{function}"
    owned = [f'"{rule}"' for rule in kind.rules.split()]
    extends = [kind.extends] if not function else [f"{name} {primitive}" for name in kind.extends.split()]
    imported = sorted({"primax_register", *filter(None, [function]), *kind.exports.split()})
    exported = sorted({*imported, f"{function}_p"} if kind.owns_primitive else imported)
    return {
        "function": function,
        "file": function or "rules",
        "primitive": primitive,
        "symbol": "".join(part.capitalize() for part in function.split("_")),
        "target": f"{module}_{function}",
        "imported": ", ".join(imported),
        "public": ", ".join(f'"{name}"' for name in imported),
        "exports": ", ".join(f'"{name}"' for name in exported),
        "primitives": f'"{primitive}": [{", ".join(owned)}]' if owned else "",
        "extends": ", ".join(f'"{entry}"' for entry in extends if entry),
        "others": f'"function {function}"' if function else "",
    }


def _require_possible(kind: _Kind, name: str) -> None:
    """Refuse a name that a primitive or kind of rules cannot have.

    Raises:
      UsageError: the name is not an identifier in lower case, or is taken, or the template makes nothing that has one.
    """
    if not kind.function:
        raise UsageError("--primitive must be left out for this kind, which only has rules for primitives of others")
    if not re.fullmatch(r"[a-z]([a-z0-9_]*[a-z0-9])?", name) or keyword.iskeyword(name):
        raise UsageError(f"--primitive must be an identifier in lower case, such as lambertw, got {name!r}")
    if not kind.owns_primitive and name in rule_tables:
        raise UsageError(f"--primitive must not be an existing kind of rules, got {name!r}")
    for record in host.records():
        if name in (record.manifest or {}).get("primitives", ()):
            raise UsageError(f"--primitive must not be the name of a primitive of plugin {record.name!r}, got {name!r}")


def _require_unused(name: str, names: dict[str, str]) -> None:
    """Refuse a name for which the template has another use.

    Raises:
      UsageError: there is one.
    """
    template = Template((_SKELETON / f"{names['kind']}.py.in").read_text(encoding="utf-8"))
    placeholder = "primax_new_function"
    tree = ast.parse(template.substitute({**names, "function": placeholder, "primitive": placeholder}))
    used = {
        *(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)),
        *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)),
        *(alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names),
    }
    if name in used or name == names["module"] == "tests":
        raise UsageError(f"--primitive must be another name: the template uses {name!r} for something else")


def _legal(authors: list[str], license_name: str | None, url: str | None, distribution: str) -> dict[str, str]:
    """The authors, the licence and the addresses in the package's metadata: only what the user has given.

    Raises:
      UsageError: one of them does not have the required form.
    """
    lines, people = [], []
    if license_name is not None:
        look_up("licence", license_name, _LICENSES)
        lines += [f'license = "{license_name}"', 'license-files = ["LICENSE"]']
    for author in authors:
        parts = re.fullmatch(r"\s*([^<>\x00-\x1f]*?)\s*(?:<([^<>@\s]+@[^<>@\s]+)>)?\s*", author)
        if parts is None or not parts[1]:
            raise UsageError(
                f"--author must be a name, or a name and an address as in 'Ada <ada@a.org>', got {author!r}"
            )
        address = f", email = {json.dumps(parts[2])}" if parts[2] else ""
        people.append((parts[1], f"{{ name = {json.dumps(parts[1], ensure_ascii=False)}{address} }}"))
    if people:
        lines.append(f"authors = [{', '.join(text for _, text in people)}]")
    if url is not None and not re.fullmatch(r"https?://[^\s\"\\]+", url):
        raise UsageError(f"--url must begin with https:// or http://, got {url!r}")
    return {
        "legal": "".join(f"\n{line}" for line in lines),
        "urls": "" if url is None else f'\n[project.urls]\nRepository = "{url}"\n',
        "licence": f"{license_name}, see LICENSE." if license_name else "None has been chosen yet.",
        "holders": " and ".join(name for name, _ in people) or f"the authors of {distribution}",
        "year": time.strftime("%Y"),
    }


def _texts(kind: _Kind, kind_name: str, names: dict[str, str]) -> dict[str, str]:
    """The sentences of README.md and CHANGELOG.md, and the command that checks the plugin."""
    what = Template(kind.what).substitute(name=f"`{names['primitive'] if kind.owns_primitive else names['function']}`")
    plugin, module, function = names["plugin"], names["module"], names["function"]
    check = f"primax check {plugin}"
    if kind_name == "override":
        check = f"PRIMAX_ALLOW_OVERRIDES={plugin} {check}"
        use = (
            "Replacing the rules of others needs the consent of the user:\n\n"
            f'    px.plugins.allow_overrides("{plugin}")\n\n'
            f"or `PRIMAX_ALLOW_OVERRIDES={plugin}` in the environment. Without it primax warns and keeps its rules."
        )
    elif not function:
        use = "Install it. primax imports the plugin when a program first uses one of these primitives."
    else:
        use = (
            f"    from {module} import {function}\n\n"
            f"or, without the name of the module, `px.contrib.{module}.{function}`, which loads the plugin."
        )
    plain = what.replace("`", "")
    start = "a sample or two" if kind.owns_primitive else "rules of your own"
    return {
        "about": f"A plugin of primax. It brings {what}.",
        "description": f"A plugin of primax: {plain}",
        "news": what[0].upper() + what[1:],
        "use": use,
        "check": check,
        "start": f"Put your formula in place of the one there, and {start}." if function else "Put your rules there.",
        "example": Template(kind.example).substitute(names),
    }


def _write(folder: Path, names: dict[str, str], sources: dict[str, str]) -> list[str]:
    """Write all files or none: they are written to a temporary directory, which is then renamed."""
    files = {}
    for path, source in sources.items():
        text = (_SKELETON / Template(source).substitute(names)).read_text(encoding="utf-8") if source else ""
        files[Template(path).substitute(names)] = Template(text).substitute(names)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        draft = Path(temporary, folder.name)
        for path, text in files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        draft.rename(folder)
    return list(files)
