"""Worker processes are started, watched and replaced, and their findings printed."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.frame import SEVERITIES, Finding
from fuzz.kinds import load
from primax.extend.testing.programs import quick_flags

TESTS = Path(__file__).resolve().parent.parent
SECONDS_TO_START = 600.0  # many processes may share a core
SECONDS_TO_TELL = 20.0  # at which frames a process hangs


@dataclass(frozen=True)
class Job:
    """The task of successive workers: a kind at a word size, with its own seeds."""

    place: str
    word_size: int
    seed: str
    only: str = ""
    cases: int | None = None  # None for no limit


@dataclass
class Outcome:
    """The result of a run.

    Attributes:
      findings: those with different names or sorts; of findings with the same ones, the first of the worst severity.
      times: how often each was found.
      reached: what the jobs of each place reached, in both word sizes together.
      cases_of: the number of cases of each job.
    """

    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)
    times: Counter[tuple[str, str]] = field(default_factory=Counter)
    reached: dict[str, Counter[str]] = field(default_factory=dict)
    cases_of: Counter[Job] = field(default_factory=Counter)

    @property
    def cases(self) -> Counter[str]:
        """The number of cases that the jobs of each place have run."""
        counts: Counter[str] = Counter()
        for job, count in self.cases_of.items():
            counts[job.place] += count
        return counts

    def add(self, finding: Finding) -> bool:
        """Add a finding; returns whether it is new, or worse than the one with its name and sort."""
        key = (finding.name, finding.sort)
        self.times[key] += 1
        known = self.findings.get(key)
        if known is not None and SEVERITIES.index(known.severity) <= SEVERITIES.index(finding.severity):
            return False
        self.findings[key] = finding
        return True


class Worker:
    """A child process, and its current case."""

    def __init__(
        self,
        job: Job,
        generation: int,
        count: int,
        messages: queue.Queue[tuple[Worker, Any]],
        before: Mapping[str, int],
    ) -> None:
        self.job, self.generation = job, generation
        self.case: tuple[str, str] | None = None  # the last case that was begun
        self.between = True
        self.ended = False
        self.deadline = time.monotonic() + SECONDS_TO_START
        self.waited = 0.0  # seconds of waiting for a processor, at the last message
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        receive, send = os.pipe()
        arguments = [job.place, f"{job.seed}/{generation}", job.only, str(count), str(send)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", *arguments],
            env=environment(job.word_size),
            pass_fds=[send],
            stdin=subprocess.PIPE,
            stdout=self.errors,
            stderr=self.errors,
            text=True,
        )
        os.close(send)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin as counts:  # a worker may have ended already
            json.dump(before, counts)
        threading.Thread(target=self._listen, args=(receive, messages), daemon=True).start()

    def _listen(self, receive: int, messages: queue.Queue[tuple[Worker, Any]]) -> None:
        with os.fdopen(receive, errors="replace") as lines:
            for line in lines:
                messages.put((self, json.loads(line) if line.endswith("\n") else None))
        messages.put((self, None))

    def starved(self) -> float:
        """The seconds for which the main thread has waited for a processor, if the system reports them."""
        try:
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def is_late(self) -> bool:
        """Whether the deadline has passed; it is extended by the time without a processor."""
        now, waited = time.monotonic(), self.starved()
        if self.deadline < now and waited > self.waited + 1:
            self.deadline, self.waited = now + waited - self.waited, waited
        return self.deadline < now

    def stop(self, asked: bool = False) -> str:
        """End the process; what it wrote, with the frames that it is at where it is asked for them."""
        if asked:
            self.process.send_signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(SECONDS_TO_TELL)
        self.process.kill()
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().splitlines()
        self.errors.close()
        return "\n".join(lines)


def environment(word_size: int) -> dict[str, str]:
    """The variables of a worker: quick compilation unless XLA_FLAGS is set, and the same word size for primax and jax.

    Compiled programs are not stored, since few occur again.
    """
    wide = str(int(word_size == 64))
    return {
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": quick_flags(),
        **os.environ,
        "PRIMAX_COMPILATION_CACHE_DIR": "",
        "JAX_COMPILATION_CACHE_DIR": "",
        "PRIMAX_ENABLE_X64": wide,
        "JAX_ENABLE_X64": wide,
        "PRIMAX_TRACEBACK_FILTERING": "off",  # findings name lines of primax
        "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


class Run:
    """Jobs that run in parallel until the time is over or each has run its cases."""

    def __init__(self, jobs: Sequence[Job], seconds: float | None, tell: Callable[[Finding], None]) -> None:
        self.jobs, self.tell = jobs, tell
        self.end = time.monotonic() + seconds if seconds is not None else float("inf")
        self.outcome = Outcome()
        self.messages: queue.Queue[tuple[Worker, Any]] = queue.Queue()
        self.left: dict[Job, int | None] = {job: job.cases for job in jobs}
        self.workers: set[Worker] = set()

    def __call__(self) -> Outcome:
        try:
            for job in self.jobs:
                self._start(job, 0)
            while self.workers and time.monotonic() < self.end:
                self._wait()
        finally:
            for worker in self.workers:
                worker.stop()
        return self.outcome

    def _start(self, job: Job, generation: int) -> None:
        left = self.left[job]
        lifetime = load(job.place).lifetime
        count = lifetime if left is None else min(left, lifetime)
        if count > 0:
            before = self.outcome.reached.get(job.place, {})
            self.workers.add(Worker(job, generation, count, self.messages, before))

    def _wait(self) -> None:
        next_look = min([self.end, *(worker.deadline for worker in self.workers)])
        try:
            worker, message = self.messages.get(timeout=max(0.0, next_look - time.monotonic()))
        except queue.Empty:
            for worker in [worker for worker in self.workers if worker.is_late()]:
                self._bury(worker, hangs=True)
            return
        if worker not in self.workers:
            return
        if message is None:
            self._bury(worker, hangs=False)
        else:
            self._take(worker, message)

    def _take(self, worker: Worker, message: dict[str, Any]) -> None:
        kind = load(worker.job.place)
        worker.deadline, worker.waited = time.monotonic() + kind.seconds_per_case, worker.starved()
        if "start" in message:
            worker.case, worker.between = (message["start"], message["program"]), False
        elif "done" in message:
            worker.between = True
            self._count(worker.job)
            self.outcome.reached.setdefault(worker.job.place, Counter()).update(message["reached"])
            if message["finding"] is not None:
                self._add(Finding(**message["finding"]))
        else:
            worker.ended = True
            if message["exhausted"]:
                self.left[worker.job] = 0

    def _count(self, job: Job) -> None:
        self.outcome.cases_of[job] += 1
        left = self.left[job]
        self.left[job] = None if left is None else left - 1

    def _add(self, finding: Finding) -> None:
        if self.outcome.add(finding):
            self.tell(finding)

    def _bury(self, worker: Worker, hangs: bool) -> None:
        """Handle a worker that has ended or hangs: report it if this is a fault, and start the next one."""
        self.workers.remove(worker)
        if not hangs:
            worker.process.wait()
        code = worker.process.returncode
        last = worker.stop(asked=hangs)
        if not worker.ended:
            # A computation may end the process after the call that started it has returned.
            if worker.case is None or (worker.between and not (code is not None and code < 0)):
                raise RuntimeError(f"a worker of {worker.job.place} failed between two cases, {_status(code)}:\n{last}")
            name, program = worker.case
            if not worker.between:
                self._count(worker.job)
            how = "the case hangs" if hangs else f"the process died, {_status(code)}"
            if load(worker.job.place).is_to_blame(last):
                ending = "\n".join(last.splitlines()[-12:])
                self._add(Finding(name, f"{how}\n{ending}".rstrip(), program, "hang" if hangs else "crash"))
        self._start(worker.job, worker.generation + 1)


def _status(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit status {code}"


def run(
    jobs: Sequence[Job], *, seconds: float | None = None, tell: Callable[[Finding], None] = lambda _: None
) -> Outcome:
    """Run jobs in parallel, each in its own worker processes.

    Args:
      jobs: the jobs.
      seconds: the time limit; if None, each job must have a number of cases.
      tell: called with each new finding at once.

    Returns:
      All findings and counts.
    """
    if seconds is None and any(job.cases is None for job in jobs):
        raise ValueError("run: seconds must be given, or a number of cases for each job")
    return Run(jobs, seconds, tell)()
