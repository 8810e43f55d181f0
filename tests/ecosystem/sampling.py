"""A plugin of pytest: runs tests in an order that a seed tells, until the time is over, and writes what came of each.

It reads the variables ECOSYSTEM_OUT (the file of outcomes, a line of JSON for each test), ECOSYSTEM_SECONDS and
ECOSYSTEM_SEED, and ECOSYSTEM_ONLY, a file of the ids of those tests that are run, all if it is not given.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

OUT = Path(os.environ["ECOSYSTEM_OUT"])
SECONDS = float(os.environ["ECOSYSTEM_SECONDS"])
ONLY = os.environ.get("ECOSYSTEM_ONLY")
ONE_TEST = 60  # seconds
_deadline = [float("inf")]  # of the run, known once the tests are found


def write(name: str, outcome: str, text: str = "") -> None:
    """Add one outcome."""
    with OUT.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": name, "outcome": outcome, "text": text}) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave the tests of the sample, in its order."""
    _deadline[:] = [time.monotonic() + SECONDS]
    write("", "collected", str(len(items)))
    if ONLY is not None:
        wanted = Path(ONLY).read_text(encoding="utf-8").splitlines()
        places = {name: i for i, name in enumerate(wanted)}
        for name in sorted(places.keys() - {item.nodeid for item in items}):
            write(name, "not collected")
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])
        return
    items.sort(key=lambda item: item.nodeid)
    random.Random(os.environ["ECOSYSTEM_SEED"]).shuffle(items)


def _late(*_: Any) -> None:
    raise TimeoutError(f"the test took more than {ONE_TEST} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """Stop where the time is over, and interrupt a test that takes too long."""
    if time.monotonic() > _deadline[0]:
        item.session.shouldstop = "the time is over"
    write(item.nodeid, "started")
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(ONE_TEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_collectreport(report: Any) -> None:
    """Write what cannot be collected."""
    if report.failed:
        write(report.nodeid, "not collected", _last_line(report))


def pytest_runtest_logreport(report: Any) -> None:
    """Write what came of a test."""
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
