"""Profiles of programs and of their memory, for viewers of XLA's profiles."""

from __future__ import annotations

import functools
import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from primax.core import _jaxlib
from primax.core.trace_state import fast_path_blockers
from primax.extend.backend import get_backend
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import check_function, integer

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileLine",
    "ProfileOptions",
    "ProfilePlane",
    "ProfileSession",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
__dir__ = __all__.copy
explain_absent(__name__)

ProfileOptions = _jaxlib.profiler.ProfileOptions
ProfileData = _jaxlib.profile_data.ProfileData
ProfileEvent = _jaxlib.profile_data.ProfileEvent
ProfileLine = _jaxlib.profile_data.ProfileLine
ProfilePlane = _jaxlib.profile_data.ProfilePlane

_PROFILE = "a profile"  # while one is recorded, jaxlib's dispatcher calls programs, and records their names
_at_work: dict[str, Any] = {}  # the active server, and the session of `start_trace`


class TraceAnnotation(_jaxlib.profiler.TraceMe):  # type: ignore[misc]
    """A named block in a trace, with metadata: `with TraceAnnotation("load", batch=3):`.

    Raises:
      TypeError: the name is not a string.
    """

    def __init__(self, name: str, /, **metadata: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"TraceAnnotation: name must be a string, got {name!r}")
        super().__init__(name, **metadata)


class StepTraceAnnotation(TraceAnnotation):
    """A block for one step of a loop: `with StepTraceAnnotation("train", step_num=i):`."""

    def __init__(self, name: str, **metadata: Any) -> None:
        super().__init__(name, _r=1, **metadata)


def _port(function: str, port: Any) -> int:
    port = integer(function, "port", port)
    if not 0 < port < 2**16:
        raise ValueError(f"{function}: port must be in [1, 65535], got {port}")
    return port


def _check_path(function: str, argument: str, path: Any) -> None:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{function}: {argument} must be a path, got {path!r}")


def register_subprocess(pid: int, port: int) -> Any:
    """Include another process, which has called `start_server`, in traces of this process.

    Args:
      pid: the process id.
      port: the port of its server.

    Raises:
      TypeError: `pid` or `port` is not an integer.
      ValueError: `pid` is not positive, or `port` is not a valid port.
    """
    pid, port = integer("register_subprocess", "pid", pid), _port("register_subprocess", port)
    if not 0 < pid < 2**31:
        raise ValueError(f"register_subprocess: pid must be the number of a process, got {pid}")
    return _jaxlib.profiler.register_subprocess(pid, port)


def annotate_function(func: Callable[..., Any], name: str | None = None, **metadata: object) -> Callable[..., Any]:
    """Annotate the calls of a function in traces with its name.

    Args:
      func: the function.
      name: the name in traces; the function's name if None.
      metadata: metadata of each call.

    >>> annotate_function(abs, name="magnitude")(-3)
    3
    """
    check_function("annotate_function", "func", func)
    shown: Any = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **metadata):
            return func(*args, **kwargs)

    return call


class ProfileSession:
    """A trace that runs from its creation until `stop` or the end of its block.

    Args:
      log_dir: the folder for the trace, for TensorBoard or XProf; None to only return the trace.
      create_perfetto_link: must be False; open the written trace at Perfetto's web page by hand.
      create_perfetto_trace: whether to write `perfetto_trace.json.gz` for that page too.
      profiler_options: the options of the trace, a `ProfileOptions`.

    Raises:
      TypeError: `log_dir` is not a path, or `profiler_options` is not a `ProfileOptions`.
      NotImplementedError: a link for Perfetto is requested.
      ValueError: a file for Perfetto is requested and `log_dir` is None.
    """

    def __init__(
        self,
        log_dir: os.PathLike[str] | str | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
    ) -> None:
        if create_perfetto_link:
            rule = "create_perfetto_link must be False; write a file by create_perfetto_trace, and open it at its page"
            raise NotImplementedError(f"ProfileSession: {rule}, got {create_perfetto_link!r}")
        if create_perfetto_trace and log_dir is None:
            raise ValueError("ProfileSession: log_dir must be a folder where create_perfetto_trace is, got None")
        if log_dir is not None:
            _check_path("ProfileSession", "log_dir", log_dir)
        if not isinstance(profiler_options, ProfileOptions | None):
            raise TypeError(f"ProfileSession: profiler_options must be a ProfileOptions, got {profiler_options!r}")
        self.log_dir = log_dir
        self._perfetto = create_perfetto_trace
        self.profile_data: Any = None
        get_backend()
        self._session: Any = _jaxlib.profiler.ProfilerSession(profiler_options or ProfileOptions())
        fast_path_blockers.append(_PROFILE)

    def __enter__(self) -> ProfileSession:
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._session is not None:
            self.stop()

    def stop(self) -> Any:
        """End the trace, write it, and return the `ProfileData`.

        Raises:
          RuntimeError: the session has ended.
        """
        if self._session is None:
            raise RuntimeError("ProfileSession.stop: the session must be at work, and it has ended")
        session, self._session = self._session, None
        fast_path_blockers.remove(_PROFILE)
        traced = session.stop()
        if self.log_dir is not None:
            session.export(traced, str(self.log_dir))
            if self._perfetto:
                _write_for_perfetto(Path(self.log_dir))
        self.profile_data = ProfileData.from_serialized_xspace(traced)
        return self.profile_data


def _write_for_perfetto(folder: Path) -> None:
    """Write the newest trace below a folder as Perfetto reads it: only its events."""
    written = max(folder.glob("plugins/profile/*/*.trace.json.gz"), key=lambda path: path.stat().st_mtime_ns)
    with gzip.open(written, "rb") as file:
        traced = json.load(file)
    kept = {name: traced[name] for name in ("displayTimeUnit", "traceEvents") if name in traced}
    with gzip.open(written.with_name("perfetto_trace.json.gz"), "wt", encoding="utf-8") as file:
        json.dump(kept, file)


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: object = None,
) -> ProfileSession:
    """Start a trace of the process, which `stop_trace` ends; see `ProfileSession`.

    Raises:
      RuntimeError: a trace is active.
    """
    if "session" in _at_work:
        raise RuntimeError("start_trace: a trace is being recorded already; call stop_trace first")
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    _at_work["session"] = session
    return session


def stop_trace() -> Any:
    """End the trace of `start_trace`, write it, and return its `ProfileData`.

    Raises:
      RuntimeError: no trace is active.
    """
    if "session" not in _at_work:
        raise RuntimeError("stop_trace: no trace is being recorded; call start_trace first")
    return _at_work.pop("session").stop()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: object = None,
) -> Iterator[ProfileSession]:
    """Trace the process during a `with` block; see `ProfileSession`.

    >>> with trace() as session:
    ...     with TraceAnnotation("a block with a name"):
    ...         pass
    >>> names = [e.name for p in session.profile_data.planes for line in p.lines for e in line.events]
    >>> "a block with a name" in names
    True
    """
    with ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options) as session:
        yield session


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Serve traces of this process at a port, and return the server; `stop_server` stops it.

    Args:
      port: a port of this machine.
      requires_backend: whether to start devices first, so that traces include them.

    Raises:
      TypeError: `port` is not an integer.
      ValueError: `port` is not a valid port, or a server is active.
    """
    if "server" in _at_work:
        raise ValueError("start_server: a server is running already; call stop_server first")
    port = _port("start_server", port)
    if requires_backend:
        get_backend()
    server = _at_work["server"] = _jaxlib.profiler.start_server(port)
    return server


def stop_server() -> None:
    """End the server.

    Raises:
      ValueError: no server is active.
    """
    if "server" not in _at_work:
        raise ValueError("stop_server: no server is running; call start_server first")
    del _at_work["server"]


def device_memory_profile(backend: str | None = None) -> bytes:
    """A compressed memory profile of the devices, which `pprof` reads.

    Args:
      backend: the platform; the default one if None.
    """
    return bytes(get_backend(backend).heap_profile())


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file.

    Raises:
      TypeError: `filename` is not a path.
    """
    _check_path("save_device_memory_profile", "filename", filename)
    Path(filename).write_bytes(device_memory_profile(backend))
