"""A plugin of pytest: runs tests in an order by a seed, until the time is over, and writes the outcome of each.

It reads the variables ECOSYSTEM_OUT (the file of outcomes, a line of JSON for each test), ECOSYSTEM_SECONDS and
ECOSYSTEM_SEED, and ECOSYSTEM_ONLY, a file of the ids of the tests to run; by default all. Seconds are
of the processor's time, so other work on the machine changes nothing.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

OUT = Path(os.environ["ECOSYSTEM_OUT"])
SECONDS = float(os.environ["ECOSYSTEM_SECONDS"])
ONLY = os.environ.get("ECOSYSTEM_ONLY")
ONE_TEST = 60  # seconds of the processor's time
WAITING = 10  # the limit of a test by the clock, in multiples of the other limit
_deadline = [float("inf")]  # the end of the run, set after the tests were collected


def write(name: str, outcome: str, text: str = "") -> None:
    """Add one outcome."""
    with OUT.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": _with_jax(name), "outcome": outcome, "text": text}) + "\n")


def _with_jax(name: str) -> str:
    """The name of a test with jax; the name may contain the type of an argument."""
    return re.sub(r"<scalar type (\w+)>", r"<class 'jax.numpy.\1'>", name.replace("primax.", "jax."))


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep the tests of the sample, in its order."""
    _deadline[:] = [time.process_time() + SECONDS]
    write("", "collected", str(len(items)))
    if ONLY is not None:
        wanted = Path(ONLY).read_text(encoding="utf-8").splitlines()
        places = {name: i for i, name in enumerate(wanted)}
        names = {item: _with_jax(item.nodeid) for item in items}
        for name in sorted(places.keys() - set(names.values())):
            write(name, "not collected")
        items[:] = sorted((item for item in items if names[item] in places), key=lambda item: places[names[item]])
        return
    items.sort(key=lambda item: item.nodeid)
    random.Random(os.environ["ECOSYSTEM_SEED"]).shuffle(items)


def _late(*_: Any) -> None:
    raise TimeoutError(f"the test took more than {ONE_TEST} s of the processor's time, or {WAITING} times that")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """Stop at the end of the time, and interrupt a test that takes too long."""
    if time.process_time() > _deadline[0]:
        item.session.shouldstop = "the time is over"
    write(item.nodeid, "started")
    for each in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(each, _late)
    signal.setitimer(signal.ITIMER_PROF, ONE_TEST)
    signal.alarm(WAITING * ONE_TEST)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def pytest_collectreport(report: Any) -> None:
    """Write collection errors."""
    if report.failed:
        write(report.nodeid, "not collected", _last_line(report))


def pytest_runtest_logreport(report: Any) -> None:
    """Write the outcome of a test."""
    if report.when == "call" or report.outcome != "passed":
        if report.when == "teardown" and report.outcome == "passed":
            return
        write(report.nodeid, "skipped" if report.outcome == "skipped" else report.outcome, _last_line(report))


def _last_line(report: Any) -> str:
    if report.outcome == "passed":
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1])[:300] if lines else ""
