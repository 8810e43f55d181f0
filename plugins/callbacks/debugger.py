"""`debug.breakpoint`: a stop of a running program, with the values of the functions that made it."""

from __future__ import annotations

import cmd
import inspect
import pprint
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, TextIO

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.tracing import is_internal
from primax.plugins.callbacks.debug import debug_callback

_AROUND = 4  # lines before and after the current one


class QuitDebuggerError(RuntimeError):
    """The user has ended the program at a breakpoint."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A call that was running when the breakpoint was traced.

    Attributes:
      values: the variables; tracers stand for arrays until the program runs.
    """

    file: str
    line: int
    function: str
    lines: tuple[str, ...]
    first: int
    names: Mapping[str, Any]
    values: Mapping[str, Any]


def debug_breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: object = None,
    **kwargs: Any,
) -> Any:
    """Stop the program here, and open a debugger prompt.

    The variables of the calling function, and of its callers, have their values of this run. `help`
    lists the commands: `p` prints an expression, `u` and `d` go to the caller and back, `c` continues, `q` ends.

    Args:
      backend: "cli" or None: the commands come from the standard input.
      filter_frames: whether calls within primax are left out.
      num_frames: the maximal number of callers besides the function itself; None means all.
      ordered: whether breakpoints and prints happen in the order of the program.
      token: arrays in any containers, which are computed before the program stops.
      kwargs: `stdin` and `stdout`: files to read commands from, and to write to.

    Returns:
      `token`.

    Raises:
      TypeError: an argument has the wrong type or an unknown name.
      ValueError: there is no such backend.
      XlaError: the user has ended a compiled program.
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend must be 'cli' or None, got {backend!r}")
    unknown = sorted(set(kwargs) - {"stdin", "stdout"})
    if unknown:
        raise TypeError(f"debug.breakpoint: keywords must be stdin or stdout, got {', '.join(unknown)}")
    if num_frames is not None:
        num_frames = integer("debug.breakpoint", "num_frames", num_frames)
        if num_frames < 0:
            raise ValueError(f"debug.breakpoint: num_frames must not be negative, got {num_frames}")
    visible = [
        frame for frame in _frames(sys._getframe(1)) if not (filter_frames and is_internal(frame.f_code.co_filename))
    ]
    frames = [_read(frame) for frame in (visible if num_frames is None else visible[: num_frames + 1])]
    parts = [{name: _Variable(value) for name, value in frame.values.items()} for frame in frames]
    variables = [variable for part in parts for variable in part.values()]
    needed = [x for x in tree.tree_leaves(token) if isinstance(x, core.Tracer)]

    def stop(values: Any, _: Any) -> None:
        filled = dict(zip(map(id, variables), map(_Variable.filled, variables, values), strict=True))
        shown = [{name: filled[id(variable)] for name, variable in part.items()} for part in parts]
        Debugger(frames, shown, **kwargs).run()

    debug_callback(stop, [variable.traced for variable in variables], needed, ordered=ordered)
    return token


class _Variable:
    """A variable, and the arrays in it that are known when the program runs."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.traced: list[Any] = []
        try:
            leaves, structure = tree.flatten(value, lambda x: isinstance(x, Iterator))
        except Exception:  # it contains itself, or keys that cannot be sorted: it is shown unchanged
            return
        self._leaves, self._structure = leaves, structure
        self.traced = [leaf for leaf in leaves if isinstance(leaf, core.Tracer)]

    def filled(self, values: Sequence[Any]) -> Any:
        """The value in this run."""
        if not self.traced:
            return self.value
        rest = iter(values)
        return tree.unflatten(
            self._structure, [next(rest) if isinstance(leaf, core.Tracer) else leaf for leaf in self._leaves]
        )


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _read(frame: FrameType) -> _Frame:
    code = frame.f_code
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):  # code that was typed in, or made by exec
        lines, first = [], code.co_firstlineno
    return _Frame(
        code.co_filename,
        frame.f_lineno,
        code.co_name,
        tuple(lines),
        max(first, 1),
        frame.f_globals,
        dict(frame.f_locals),
    )


class Debugger(cmd.Cmd):
    """Prompts the user at a breakpoint.

    Args:
      frames: the calls, the innermost first.
      values: the variables of each.
      stdin: the input for commands.
      stdout: the output.
    """

    prompt = "(jdb) "

    def __init__(
        self,
        frames: Sequence[_Frame],
        values: Sequence[dict[str, Any]],
        stdin: TextIO | None = None,
        stdout: Any = None,
    ) -> None:
        super().__init__(stdin=stdin or sys.stdin, stdout=stdout or sys.stdout)
        self.use_rawinput = stdin is None and stdout is None and sys.stdin.isatty()
        self.frames = frames
        self.values = values
        self.at = 0

    def run(self) -> None:
        """Prompt until the user continues.

        Raises:
          QuitDebuggerError: the user ends the program.
        """
        self.cmdloop("Entering jdb:")

    def _say(self, text: Any) -> None:
        self.stdout.write(f"{text}\n")

    def emptyline(self) -> bool:
        """Nothing happens without a command."""
        return False

    def default(self, line: str) -> None:
        """Commands are those that `help` lists."""
        self._say(f"*** there is no command {line.split()[0]!r}; help lists them, p prints an expression")

    def _evaluated(self, text: str, show: Any) -> None:
        try:
            self._say(show(eval(text, dict(self.frames[self.at].names), self.values[self.at])))
        except Exception as error:  # whatever error the expression raises is shown
            self._say("*** " + traceback.format_exception_only(error)[-1].strip())

    def do_p(self, text: str) -> None:
        """p EXPRESSION: print its value."""
        self._evaluated(text, repr)

    def do_pp(self, text: str) -> None:
        """pp EXPRESSION: print its value, in lines."""
        self._evaluated(text, pprint.pformat)

    def _show(self) -> None:
        frame = self.frames[self.at]
        self._say(f"> {frame.file}({frame.line})")
        for number, line in enumerate(frame.lines, frame.first):
            if abs(number - frame.line) <= _AROUND:
                mark = "->" if number == frame.line else "  "
                self._say(f"{mark}  {line.rstrip()}")

    def do_list(self, _: str) -> None:
        """list: the lines around the current one."""
        self._show()

    def do_up(self, _: str) -> None:
        """up: go to the caller."""
        self._go(1)

    def do_down(self, _: str) -> None:
        """down: go back from the caller."""
        self._go(-1)

    def _go(self, step: int) -> None:
        if 0 <= self.at + step < len(self.frames):
            self.at += step
            self._show()
        else:
            self._say("*** there is no further frame")

    def do_where(self, _: str) -> None:
        """where: the calls, the innermost last."""
        self._say("Traceback:")
        for frame in reversed(self.frames):
            self._say(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
            index = frame.line - frame.first
            if 0 <= index < len(frame.lines):
                self._say(f"    {frame.lines[index].strip()}")

    def do_continue(self, _: str) -> bool:
        """continue: resume the program."""
        return True

    def do_quit(self, _: str) -> None:
        """quit: end the program."""
        raise QuitDebuggerError("debug.breakpoint: the user has ended the program")

    do_l = do_list
    do_u = do_up
    do_d = do_down
    do_bt = do_w = do_where
    do_c = do_cont = do_continue
    do_q = do_EOF = do_quit
