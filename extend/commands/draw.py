"""Draw the program of a function. The colour of an equation shows the plugin of its primitive."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from primax.core.avals import ShapeDtypeStruct
from primax.extend.commands.common import (
    UsageError,
    add_examples,
    add_json,
    fail,
    load_plugins,
    show_json,
    similar,
    warn_of_inactive,
)
from primax.extend.dtypes import check_user_dtype

__all__ = ["configure", "run"]

_TYPE = re.compile(r"(?P<dtype>[a-z0-9_]+)\s*(\[(?P<shape>[\d\s,]*)\])?")
# Frames of these folders are not the user's.
_PRIMAX = (str(Path(__file__).parents[2]), str(Path(import_module.__code__.co_filename).parent))
# Short names of dtypes in printed programs.
_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex", "bf": "bfloat"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="a function, such as primax.numpy:hypot")
    parser.add_argument(
        "types", nargs="*", metavar="TYPE", help="the type of each argument, such as 'f32[3,4]' or float32 for a number"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="a .dot, .svg, .png or .pdf file; by default print the text for dot"
    )
    parser.add_argument("--depth", type=int, help="how many levels of inner programs to draw; by default what fits")
    parser.add_argument("--limit", type=int, default=250, help="the most equations to draw; by default 250")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax draw primax.numpy:hypot 'f32[3]' 'f32[3]' --out hypot.svg": "a picture, by Graphviz",
            "primax draw model:Layer.apply 'f32[8,4]' --depth 1 > layer.dot": "the text for dot, of model.py",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw a program; exit code 1 if the function cannot be traced."""
    function = _function(arguments.function)
    structs = [_struct(text) for text in arguments.types]
    warn_of_inactive(load_plugins())
    drawing: Any = import_module("primax.extend.drawing")
    make_jaxpr = import_module("primax.interpreters.make_jaxpr").make_jaxpr
    try:
        make_jaxpr(function)(*structs)
    except Exception as error:
        fail("draw", f"{arguments.function} raised {_summary(error)}")
        return 1
    try:
        picture = drawing.visualize(function, *structs, depth=arguments.depth, limit=arguments.limit)
        if arguments.out is not None:
            picture.save(arguments.out)
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(str(error)) from error
    if arguments.json:
        show_json({"name": picture.name, "plugins": picture.plugins, "out": arguments.out, "dot": picture.dot})
    elif arguments.out is not None:
        listed = ", ".join(f"{name} {count}" for name, count in picture.plugins.items())
        print(f"{arguments.out} has been written: {sum(picture.plugins.values())} equations ({listed})")
    else:
        print(picture.dot, end="")
    return 0


def _function(path: str) -> Callable[..., Any]:
    """The function that MODULE:FUNCTION names; modules in the current directory are found, too.

    Raises:
      UsageError: there is no such module or function.
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError(f"a function is written as MODULE:FUNCTION, such as primax.numpy:hypot, got {path!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = import_module(module_name)
    except (Exception, SystemExit) as error:  # of any kind, from the user's module
        raise UsageError(f"module {module_name!r} cannot be imported:\n  {_summary(error)}") from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise UsageError(f"{module_name!r} has no {name!r}{similar(part, dir(value))}")
        value = getattr(value, part)
    if not callable(value):
        raise UsageError(f"{path!r} must be a function, got {type(value).__name__}")
    function: Callable[..., Any] = value
    return function


def _summary(error: BaseException) -> str:
    """The class and the first line of an error, and the last line of the user's code that was running."""
    message = str(error).partition("\n")[0]
    frames = import_module("traceback").extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*_PRIMAX, "<frozen "))]
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}:{error.lineno}"
    else:
        place = f"{own[-1].filename}:{own[-1].lineno}, in {own[-1].name}" if own else ""
    return f"{type(error).__name__}: {message}" + (f"\n  at {place}" if place else "")


def _struct(text: str) -> ShapeDtypeStruct:
    """A type as it is written in programs, or with the dtype's full name.

    Raises:
      UsageError: it is not such a type.
    """
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"a type is written as in 'f32[3,4]', 'int32[5]' or 'float32', got {text!r}")
    name = re.sub(r"^(bf|[fiuc])(?=\d)", lambda prefix: _KINDS[prefix[1]], match["dtype"])
    try:
        dtype = check_user_dtype(name, "dtype", "draw")
    except (TypeError, ValueError) as error:
        raise UsageError(f"there is no dtype {match['dtype']!r}") from error
    return ShapeDtypeStruct(tuple(int(size) for size in re.findall(r"\d+", match["shape"] or "")), dtype)
