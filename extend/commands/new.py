"""Write a package with a plugin: one primitive with all its rules, samples, and tests that run the conformance kit."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from string import Template
from typing import NamedTuple

from primax.extend.commands.common import UsageError, add_examples, add_json, look_up, show_json
from primax.extend.host.hookspec import API_VERSION
from primax.extend.host.plugin_host import host

__all__ = ["configure", "run"]

# The files of a package, and the file of the skeleton from which each is made; "" stands for an empty file.
_FILES = {
    "pyproject.toml": "pyproject.toml.in",
    "README.md": "README.md.in",
    "src/$module/__init__.py": "init.py.in",
    "src/$module/$function.py": "$kind.py.in",
    "src/$module/primax.json": "primax.json.in",
    "src/$module/py.typed": "",
    "tests/test_$function.py": "test_$kind.py.in",
}
_FILES_OF_KIND = {"ffi": {"setup.py": "setup.py.in", "src/$module/boost.cc": "boost.cc.in"}}


class _Kind(NamedTuple):
    """A template: its function, what that computes, its rules, and the requirements to build the package."""

    function: str
    what: str
    rules: str
    requires: str = ""


_USUAL = "abstract_eval batch impl jvp lowering"
_KINDS = {
    "elementwise": _Kind("damp", "a number scaled to less than one in magnitude", f"{_USUAL} sharding"),
    "linear": _Kind("axpy", "a multiple of one array plus another", f"{_USUAL} transpose"),
    "higher-order": _Kind(
        "iterate",
        "a function applied several times",
        "batch effectful_abstract_eval impl interpret jvp lowering",
    ),
    "reduction": _Kind("energy", "a sum of squares along an axis", _USUAL),
    "ffi": _Kind(
        "boost",
        "a multiple of an array, computed by C++",
        "abstract_eval batch jvp lowering[cpu] sharding transpose",
        "jaxlib>=0.10",
    ),
    "random": _Kind("jitter", "an array plus noise", _USUAL),
}
_SKELETON = Path(__file__).with_name("skeleton")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="the package's name, such as my-plugin")
    parser.add_argument(
        "--kind", metavar="KIND", default="linear", help=f"the template: {', '.join(_KINDS)}; by default linear"
    )
    parser.add_argument(
        "--into", metavar="DIR", default=".", help="the directory for the package; by default the current one"
    )
    add_json(parser)
    add_examples(
        parser,
        {
            "primax new my-plugin": "a linear primitive in ./my-plugin",
            "primax new my-plugin --kind ffi --into ~/src": "one in C++, in another folder",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Write a package."""
    distribution = _distribution(arguments.name)
    module = distribution.replace("-", "_")
    folder = Path(arguments.into, distribution)
    kind = look_up("kind of primitive", arguments.kind, _KINDS)
    names = {
        "kind": arguments.kind.replace("-", "_"),
        "function": kind.function,
        "what": kind.what,
        "rules": ", ".join(f'"{rule}"' for rule in kind.rules.split()),
        "requires": ", ".join(f'"{requirement}"' for requirement in ("setuptools>=77", kind.requires) if requirement),
        "distribution": distribution,
        "plugin": distribution,
        "module": module,
        "api": "v{}_{}".format(*API_VERSION),
        "primax": ".".join(arguments.version.split(".")[:2]),
    }
    _require_free(distribution, module, folder)
    try:
        files = _write(folder, names, {**_FILES, **_FILES_OF_KIND.get(arguments.kind, {})})
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    if arguments.json:
        show_json({"folder": str(folder), "files": files, **names})
    else:
        listed = "\n  ".join(files)
        print(f"{folder} has been written:\n  {listed}")
        print(f"Next:\n  pip install -e {folder}\n  primax check {distribution}\n  pytest {folder}")
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
    if any(record.name == distribution for record in host.records()):
        raise UsageError(f"NAME must not be the name of an installed plugin, got {distribution!r}")
    if not folder.parent.is_dir():
        raise UsageError(f"there is no folder {str(folder.parent)!r}")
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{str(folder)!r} exists already")


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
