"""Names of JAX that primax does not have: their errors, their placeholders, and a count of their uses."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from primax.porting.table import table

REPORT = "PRIMAX_AS_JAX_REPORT"  # the environment variable with the file to which uses are appended
_OWN = (os.path.dirname(os.path.abspath(__file__)), "<frozen importlib")


class AbsentNameError(AttributeError):
    """A program used a name of JAX that primax does not have."""


class AbsentModuleError(ModuleNotFoundError):
    """A program imported a module of JAX that primax does not have."""


@dataclass(slots=True)
class Use:
    """The number of uses of an absent name, and the place of the first, as file:line."""

    count: int
    place: str
    written: int = 0


_uses: dict[str, Use] = {}
_lock = threading.Lock()


def uses() -> dict[str, Use]:
    """The absent names that this process has used."""
    with _lock:
        return dict(_uses)


def record(name: str) -> str:
    """Count a use of an absent name, and return the error message."""
    with _lock:
        use = _uses.get(name)
        if use is None:
            use = _uses[name] = Use(0, _place())
        use.count += 1
        if use.count & (use.count - 1) == 0:  # a power of two, so that frequent uses are written rarely
            _flush(name, use)
    return f"{name} is not in primax: {table().explain(name)}"


def _place() -> str:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class _Inert(type):
    """The type of placeholders: classes for annotations, unions and `isinstance` only."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise AbsentNameError(record(cls._jax_name))

    def __getattr__(cls, name: str) -> Any:
        if "_jax_name" not in vars(cls) or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return placeholder(f"{cls._jax_name}.{name}")

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __repr__(cls) -> str:
        return f"<{cls._jax_name}, which primax does not have>"

    def __instancecheck__(cls, instance: Any) -> bool:
        return False


def placeholder(name: str) -> Any:
    """The placeholder of an inert name: no value is an instance, and a call raises an error."""
    last = name.rpartition(".")[2]
    return _Inert(last, (), {"_jax_name": name, "__module__": name.rpartition(".")[0]})


def _flush(name: str, use: Use) -> None:
    path = os.environ.get(REPORT)
    if path and use.count > use.written:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(_line(use.count - use.written, name, use.place))
        use.written = use.count


def _flush_all() -> None:
    for name, use in uses().items():
        _flush(name, use)


atexit.register(_flush_all)


def merged_report(path: str | os.PathLike[str]) -> str:
    """The merged report of this process and its child processes, one line for each name."""
    _flush_all()
    counts: dict[str, list[Any]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        count, name, place, _ = line.split("\t")
        counts.setdefault(name, [0, place])[0] += int(count)
    rows = sorted(counts.items(), key=lambda row: (-row[1][0], row[0]))
    return "".join(_line(count, name, place) for name, (count, place) in rows)


def _line(count: int, name: str, place: str) -> str:
    return f"{count}\t{name}\t{place}\t{table().explain(name)}\n"
