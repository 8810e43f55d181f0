"""A first call walks straight through the rooms, and few files take part; see docs/kernel/three-calls.md.

The rooms are core, interpreters, interpreters/runtime, extend, plugins and api. The dispatcher hands a first call to
the method `miss` of a compiled function, which is in extend. The call goes down if this method, or another of its room
or a higher one, calls a function of a lower room, and goes up with the return; what happens meanwhile is part of the
descent. Calls of core are not counted, since it is the ground of all rooms.
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
      descents: the functions of lower rooms that `miss` has called, by name.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.descents: list[str] = []
        self._depth = 0
        self._miss = 0  # the depth of the active call of `miss`, and of the active descent
        self._descent = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._depth += 1
            self._enter(frame.f_code.co_filename, frame.f_code.co_qualname)
        elif event == "return":
            if self._depth == self._descent:
                self._descent = 0
            elif self._depth == self._miss:
                self._miss = 0
            self._depth -= 1

    def _enter(self, path: str, name: str) -> None:
        room = room_of(path)
        if room is not None:
            self.files.add(path)
        if name == "CompiledFunction.miss" and not self._miss:
            self._miss = self._depth
        elif self._miss and not self._descent and room and ROOMS[room] in ("interpreters", "interpreters/runtime"):
            self.descents.append(name)
            self._descent = self._depth


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


def record_in_process(call: Callable[[], Recorder]) -> tuple[list[str], list[str]]:
    """The files and the descents of a record that a new process makes, since other tests load more plugins."""
    support = str(Path(processes.__file__).parent)
    done = subprocess.run(
        [sys.executable, __file__, call.__name__],
        env=os.environ | {"PYTHONPATH": support},
        capture_output=True,
        text=True,
        timeout=processes.HANG,
        check=True,
    )
    files, descents = json.loads(done.stdout)
    return files, descents


def test_the_first_call_of_a_jitted_function_walks_straight() -> None:
    files, descents = record_in_process(first_call)
    assert 0 < len(files) <= 45, files
    assert descents == ["trace_call", "compile_and_run"]


def test_an_eager_gradient_enters_few_files() -> None:
    files, _ = record_in_process(eager_gradient)
    assert 0 < len(files) <= 30, files


if __name__ == "__main__":
    recorder = {call.__name__: call for call in (first_call, eager_gradient)}[sys.argv[1]]()
    print(json.dumps([sorted(recorder.files), recorder.descents]))
