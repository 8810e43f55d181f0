"""A first call walks straight through the rooms, and few files take part; see docs/three-calls.md.

The rooms are core, interpreters, interpreters/runtime, extend, plugins and api. A call changes rooms downward if a
function of one room calls a function of a lower room; the return is a change upward. Three kinds of calls are not
counted: those of core, which is the ground of all rooms; those of a function of a higher room, such as a rule or the
function that is traced, since a lower room knows it only as a value; and all that such a function calls.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import processes

import primax as px
import primax.core

ROOMS = ("core", "interpreters", "interpreters/runtime", "extend", "plugins", "api")


PACKAGE = f"{Path(primax.core.__file__).parents[1]}/"


def room_of(path: str) -> int | None:
    """The rank of the room of a file; None for a file that is not of the package."""
    if not path.startswith(PACKAGE):
        return None
    first, second = (*path.removeprefix(PACKAGE).split("/"), "")[:2]
    if f"{first}/{second}" in ROOMS:
        return ROOMS.index(f"{first}/{second}")
    return ROOMS.index(first) if first in ROOMS else ROOMS.index("api")


class Recorder:
    """Records a call.

    Attributes:
      files: the files of the package that were entered.
      downward: the changes to a lower room, as pairs of names of functions.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.downward: list[tuple[str, str]] = []
        self._stack: list[tuple[int | None, str]] = []  # the room of each active call, and its function
        self._hidden = 0  # how many calls from a call of a higher room are active

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._enter(frame.f_code.co_filename, frame.f_code.co_qualname)
        elif event == "return" and self._stack:
            self._stack.pop()
            self._hidden = max(self._hidden - 1, 0)

    def _enter(self, path: str, name: str) -> None:
        room = room_of(path)
        if room is not None:
            self.files.add(path)
        caller, caller_name = next(((r, n) for r, n in reversed(self._stack) if r), (None, ""))
        if self._hidden or (caller is not None and (room is None or room > caller)):
            self._hidden += 1
        elif caller and room and room < caller:
            self.downward.append((caller_name, name))
        self._stack.append((room, name))


def recorded(call: Callable[[], Any]) -> Recorder:
    """The record of a call."""
    recorder = Recorder()
    sys.setprofile(recorder)
    try:
        call()
    finally:
        sys.setprofile(None)
    return recorder


def fun(x: Any) -> Any:
    return px.lax.sin(x) * 2


def first_call() -> Recorder:
    """The record of the first call of a jitted function."""
    x = px.numpy.float32(1.0)
    px.config.update("compilation_cache_dir", None)
    for _ in range(2):
        px.jit(lambda x: fun(x))(x)  # imports what the process needs once
    function = px.jit(fun)
    return recorded(lambda: function(x))


def eager_gradient() -> Recorder:
    """The record of an eager gradient."""
    derivative = px.grad(fun)
    x = px.numpy.float32(1.0)
    for _ in range(3):
        derivative(x)
    return recorded(lambda: derivative(x))


def record_in_process(call: Callable[[], Recorder]) -> tuple[list[str], list[list[str]]]:
    """The files and the changes downward of a record that a new process makes, since other tests load more plugins."""
    support = str(Path(processes.__file__).parent)
    done = subprocess.run(
        [sys.executable, __file__, call.__name__],
        env=os.environ | {"PYTHONPATH": support},
        capture_output=True,
        text=True,
        timeout=processes.HANG,
        check=True,
    )
    files, downward = json.loads(done.stdout)
    return files, downward


def test_the_first_call_of_a_jitted_function_walks_straight() -> None:
    files, downward = record_in_process(first_call)
    assert 0 < len(files) <= 45, files
    assert len(downward) <= 2, downward


def test_an_eager_gradient_enters_few_files() -> None:
    files, _ = record_in_process(eager_gradient)
    assert 0 < len(files) <= 30, files


if __name__ == "__main__":
    recorder = {call.__name__: call for call in (first_call, eager_gradient)}[sys.argv[1]]()
    print(json.dumps([sorted(recorder.files), recorder.downward]))
