"""Runs programs one after the other, and writes down what Python would print for each. It gets them as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any


def report(path: Path) -> tuple[int, str, str, str]:
    """What Python prints for a program that fails: the number of lines, the class, the message, and all of it."""
    try:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    except Exception as error:
        trace: Any = error.__traceback__
        text = "".join(traceback.format_exception(type(error), error, trace.tb_next))  # without the line above
        message = "".join(traceback.format_exception_only(error))
        return len(text.splitlines()), type(error).__name__, message.strip(), text
    return 0, "", "", ""


def main() -> None:
    task = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        for i, (name, program) in enumerate(task["programs"].items()):
            path = Path(folder, f"mistake_{i}.py")
            path.write_text(task["header"] + program)
            found[name] = report(path)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
