"""A plugin of pytest that records what each test costs and what a process does meanwhile: `-p costs.record`."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

# Names a folder; each process of the run writes its records there.
FOLDER = "PRIMAX_TEST_COSTS"
CONTROLLER = "controller"  # the process that runs no tests, but has workers
INTERVAL = 0.005  # seconds between two samples of the stack

# The innermost frame in one of these packages says who works; others, such as the standard library, work for it.
_PACKAGES = {
    "primax": "primax",
    "jax": "jax",
    "hypothesis": "hypothesis",
    "_pytest": "pytest",
    "pluggy": "pytest",
    "xdist": "pytest",
    "execnet": "pytest",
    "numpy": "NumPy and SciPy",
    "scipy": "NumPy and SciPy",
}
# Functions whose work is a cause of its own, by the file and the name: what they call counts as theirs.
_STEPS = {
    ("primax", "_compile"): "primax: compiling",
    ("primax", "_lower"): "primax: lowering",
    ("primax", "lower_to_module"): "primax: lowering",
    ("jax", "backend_compile_and_load"): "jax: compiling",
    ("jax", "lower_jaxpr_to_module"): "jax: lowering",
}


def _package(path: str, tests: str) -> str | None:
    """Who wrote a file, for those who have a row of their own."""
    if path.startswith(tests):
        return "tests"
    if path.startswith("<frozen importlib"):
        return "imports"
    if path.endswith("subprocess.py"):
        return "subprocesses: waiting"
    parts = path.split(os.sep)
    if "site-packages" in parts:
        return _PACKAGES.get(parts[parts.index("site-packages") + 1])
    return "primax" if "primax" in parts else None


def _cause(frame: FrameType | None, tests: str) -> str:
    """What a stack works for: a step of compiling if one is under way, otherwise the innermost frame that tells."""
    cause = None
    while frame is not None:
        code = frame.f_code
        package = _packages.get(code.co_filename, "")
        if package == "":
            package = _packages[code.co_filename] = _package(code.co_filename, tests)
        if package is not None:
            step = _STEPS.get((package, code.co_name))
            if step is not None:
                return step
            cause = cause or package
        frame = frame.f_back
    return {"primax": "primax: else", "jax": "jax: else", None: "else"}.get(cause, cause)


_packages: dict[str, str | None] = {}


class Sampler:
    """Adds the processor time of this process to what its main thread is doing.

    The system sends a signal after each interval of processor time. Python handles it in the main thread, after the C
    function that runs has returned.
    """

    def __init__(self, tests: str) -> None:
        self.tests = tests
        self.causes: Counter[str] = Counter()
        self._before = time.process_time()
        self._collecting = 0.0

    def start(self) -> None:
        """Begin to sample."""
        gc.callbacks.append(self._collects)
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)
        self.go_on()

    def pause(self) -> None:
        """Send no more signals."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def go_on(self) -> None:
        """Send signals."""
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)

    def stop(self) -> None:
        """End."""
        self.pause()
        gc.callbacks.remove(self._collects)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        now = time.process_time()
        self.causes[_cause(frame, self.tests)] += now - self._before
        self._before = now

    def _collects(self, phase: str, info: object) -> None:
        """Count a garbage collection for itself, whoever caused it."""
        now = time.process_time()
        if phase == "start":
            self._collecting = now
        else:
            self.causes["garbage collection"] += now - self._collecting
            self._before += now - self._collecting


def _memory() -> int:
    """The resident memory of this process in bytes."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Recorder:
    """Writes a line for each test, for each fixture and for the process."""

    def __init__(self, folder: Path, tests: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / f"{os.getpid()}.jsonl").open("w")
        self.sampler = Sampler(tests)
        self.sampler.start()

    def write(self, **record: Any) -> None:
        """Write one record."""
        self.file.write(json.dumps(record) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure a test with its fixtures."""
        if "without_gc" in getattr(item, "fixturenames", ()):  # neither may a signal come in there
            self.sampler.pause()
        self.sampler.causes, causes = Counter(), self.sampler.causes
        own, children, memory = time.process_time(), _children(), _memory()
        try:
            return (yield)
        finally:
            causes, self.sampler.causes = self.sampler.causes, causes
            self.sampler.go_on()
            self.write(
                kind="test",
                test=item.nodeid,
                own=time.process_time() - own,
                children=_children() - children,
                memory=_memory(),
                grown=_memory() - memory,
                causes=causes,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Measure the set-up of a fixture."""
        own, children = time.process_time(), _children()
        try:
            return (yield)
        finally:
            own, children = time.process_time() - own, _children() - children
            if own + children > 0.01:
                self.write(kind="fixture", fixture=fixturedef.argname, own=own, children=children)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what the process did beside tests."""
        self.sampler.stop()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.write(
            kind="process",
            own=time.process_time(),
            children=_children(),
            most=most,
            causes=self.sampler.causes,
            worker=CONTROLLER if session.config.pluginmanager.hasplugin("dsession") else "worker",
        )
        self.file.close()


def pytest_configure(config: pytest.Config) -> None:
    """Record where the folder is named."""
    if folder := os.environ.get(FOLDER):
        config.pluginmanager.register(Recorder(Path(folder), str(Path(__file__).parents[1])))
