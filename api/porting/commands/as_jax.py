"""Run an unchanged program for JAX: in its process and child processes, `import jax` imports primax."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import tempfile
from pathlib import Path
from types import ModuleType, TracebackType

import primax
from primax.extend.commands.common import UsageError, add_examples
from primax.porting import children
from primax.porting.absent import REPORT, merged_report
from primax.porting.process import install

_USAGE = "primax as-jax [--report FILE] (script.py | -m MODULE | -c CODE) [ARGUMENT ...]"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = _USAGE
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write the absent names of JAX that the program used, with counts; - is standard error",
    )
    add_examples(
        parser,
        {
            "primax as-jax train.py --epochs 3": "run a script with its arguments",
            "primax as-jax -m pytest tests": "run a module",
            "primax as-jax --report absent.txt -m my_package": "and write the absent names that it used",
        },
    )
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, such as pytest")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, help="run a program given as text")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="run a script with these arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run a program and return its exit code, or 1 if it raises an error."""
    kind, words = _program(arguments)
    report = None if arguments.report is None else _report_file(arguments.report)
    install()
    # pytest would warn that it cannot rewrite primax's asserts, and some packages turn warnings into errors.
    primax.__doc__ = f"{primax.__doc__}\nPYTEST_DONT_REWRITE"
    os.environ["PRIMAX_AS_JAX"] = "1"
    folder = str(Path(children.__file__).parent)
    later = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = folder if not later else f"{folder}{os.pathsep}{later}"
    if report is None:
        return _run(kind, words)
    file, kept = report
    os.environ[REPORT] = str(file)
    try:
        return _run(kind, words)
    finally:
        text = merged_report(file)
        if kept:
            file.write_text(text, encoding="utf-8")
        else:
            sys.stderr.write(text)
            file.unlink()


def _program(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """The kind of program, `-m`, `-c` or "" for a script, and its words.

    Raises:
      UsageError: no program is given, or the script does not exist.
    """
    if arguments.program and not (arguments.module or arguments.code) and not Path(arguments.program[0]).exists():
        raise UsageError(f"the script must be a file, got {arguments.program[0]!r}, which does not exist")
    for kind, words in (("-m", arguments.module), ("-c", arguments.code), ("", arguments.program)):
        if words:
            # Arguments after `--` belong to the program too; argparse separates them.
            return kind, words if kind == "" else [*words, *arguments.program]
    raise UsageError(f"there must be a program to run: {_USAGE}")


def _report_file(name: str) -> tuple[Path, bool]:
    """An empty file for the report, and whether to keep it.

    Raises:
      UsageError: the file cannot be written.
    """
    if name == "-":
        handle, path = tempfile.mkstemp(prefix="primax-as-jax-")
        os.close(handle)
        return Path(path), False
    file = Path(name).absolute()
    try:
        file.write_text("", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--report must be a file that can be written, got {name!r}: {error.strerror}") from error
    return file, True


def _run(kind: str, words: list[str]) -> int:
    """Run a program as Python would, with its own `sys.argv` and `sys.path`."""
    name, *rest = words
    sys.argv = [kind or name, *rest]
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(name).resolve().parent) if kind == "" else ""
    try:
        if kind == "-m":
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        elif kind == "-c":
            exec(compile(name, "<string>", "exec"), vars(_main_module()))
        else:
            runpy.run_path(name, run_name="__main__")
    except Exception as error:
        error.__traceback__ = _without_frames_of_primax(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _main_module() -> ModuleType:
    module = sys.modules["__main__"] = ModuleType("__main__")
    return module


def _without_frames_of_primax(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of primax above the program's first frame."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith((__file__, "<frozen runpy")):
        traceback = traceback.tb_next
    return traceback
